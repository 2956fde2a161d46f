/* A scripted cloud, what is recorded of it, and what a refresh makes of both. One world a test. */
#pragma once
#include "refresh/refresh.h"
#include "scripted.h"

#define NOW 1000000
#define OLD (NOW - 3600)
#define YOUNG (NOW - 5)

/* Pages of the script. */
#define PAGE(items) "['result', 'page', {'resources': [" items "]}]"
#define DONE "['result', 'done', {'complete': true}]"
#define NODE(id, address, more)                                                                    \
	"{'id': '" id "', 'address': " address ", 'state': 'present', 'status': 'running', "       \
	"'attributes': {'size': 'big'" more "}}"
#define P0 NODE("i-0", "'scripted.node.p[0]'", "")

typedef struct {
	Scripted *scripted;
	RgResourceSet *recorded;
	GHashTable *tombstones;
	RgRefreshInput input;
	RgResourceSet *observed;
} World;

void world_clear(World *world);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(World, world_clear)
void world_init(World *world, const char *script);
/* It was removed then. */
void world_bury(World *world, const char *id, int64_t removed_s);
/* A record of scripted.node.p[index]; attrs with ' for ". */
RgResource *world_record(
	World *world, int64_t index, const char *id, int64_t created_s, const char *attrs);
const RgResource *world_look(World *world, const char *address);
void world_assert_presence(World *world, const char *address, RgPresence presence);
const RgResource *world_extra(World *world, guint i);
unsigned world_lists(World *world);
void world_assert_quiet(World *world);
