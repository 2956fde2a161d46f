/* A page of `list` or `find` as text: resources, and once what adjacent ones have in common. */
#pragma once
#include "common/talk.h"

/* The parts of a page; zero-initialized. */
typedef struct {
	GString *resources, *shared; /* NULL: empty */
	unsigned n_shared;
	bool is_shared; /* the newest of `shared` belongs to the next resource too */
} ModPage;

void mod_page_clear(ModPage *page);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ModPage, mod_page_clear)

/* A resource of a page; NULL: it has no such member. */
typedef struct {
	const char *id, *address, *state, *status, *token, *lineage;
	const json_t *attributes;
} ModFound;

/* Adds a resource. `own`: the attributes (texts) that differ between resources which are otherwise
 * alike; NULL: all. */
void mod_page_add(ModPage *page, const ModFound *found, const char *const *own);
/* The next resource differs from the previous one in more than id, address and own attributes. */
void mod_page_differs(ModPage *page);
/* Passes the page to the host, if it has a resource, and begins a new one. */
rgp_status mod_page_give(ModPage *page, const ModTalk *talk, const char *kind);
