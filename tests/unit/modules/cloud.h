/* Inside the tiny cloud: cloud.c has its calls, cloud_world.c its resources and faults. */
#pragma once
#include <jansson.h>
#include "raygpu/provider.h"

struct rgp_inst {
	json_t *config;
};

typedef struct {
	struct rgp_inst *inst;
	const struct rgp_host *host;
	struct rgp_call *call;
	const char *verb;
	json_t *input, *world, *results;
	const json_t *fault;
} Run;

const char *text_of(const json_t *object, const char *key);
void give(Run *run, const char *slot, json_t *value);
void give_all(const Run *run);
json_t *world_load(const Run *run);
void world_save(const Run *run);
const json_t *count_call(Run *run);
int64_t now_ms(void);
json_t *find_thing(const Run *run, const char *key, const char *value, const char *address);
json_t *thing_of_id(const Run *run, const char *id);
json_t *make_thing(Run *run, const char *address);
int has(const Run *run, const char *name);
int may_die(const Run *run, const char *when);
rgp_status nap(const Run *run, const char *name);
rgp_status fail_call(const Run *run);
void give_failed(Run *run, const char *address, const char *class_, int definite, const char *id);
void write_log(const Run *run, const char *word);
void check_journal(const Run *run);
