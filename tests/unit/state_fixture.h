/* Shared by the tests of src/state: a folder per test, a store with its lock, and short forms of
 * the calls. One thread. */
#pragma once
#include "state/move.h"
#include "state/write.h"

typedef struct {
	char *folder, *path;
	RgDiags *diags;
	RgStore *store;
	RgLock *lock;
	char *run, *lineage;
} Fixture;

#define CLUSTER "research"

void fixture_up(Fixture *f, gconstpointer unused);   /* a folder, nothing opened */
void fixture_down(Fixture *f, gconstpointer unused); /* closes and removes all of it */
void fixture_open(Fixture *f);			     /* store for writing, lock, run started */
void fixture_close(Fixture *f);
/* fails the test and shows the diagnostics if there is an error */
void assert_fine(RgDiags *diags);
/* the only error has this code, and a hint; clears nothing */
const RgDiag *assert_code(RgDiags *diags, const char *code);
void diags_reset(Fixture *f);

/* An open row for train[from..from+n-1], all with the same attributes. */
int64_t open_batch(Fixture *f, int64_t from, int64_t n);
/* What is recorded at the address is gone. */
json_t *member_new(Fixture *f, const char *address, json_t *attrs);
/* Their removal began and ended. */
bool remove_records(Fixture *f, const char *const *addresses, size_t n);
/* Settles one as created with id and outputs {"private_ip": ...}. */
bool settle_created(Fixture *f, int64_t row, const char *address, const char *id);
bool settle_failed(Fixture *f, int64_t row, const char *address);
/* The identity that the next create of the address will use. */
void check_identity(Fixture *f, const char *address, int64_t generation, int64_t attempt);
RgSnapshot *load(Fixture *f);
/* A single value, and statements, through a separate SQLite handle, as if a person edited the file
 * and deleted the sums. */
int64_t query_int(const char *path, const char *sql);
void execute(const char *path, const char *sql);

/* Runs it in a child without root's privileges; fails the test if it returns false or dies. */
void as_nobody(bool (*function)(Fixture *f), Fixture *f);
/* A child that opens the state, changes much of it in one transaction so that the file contains
 * half of it, and kills itself: a hot journal remains. */
void leave_hot_journal(Fixture *f);
/* SHA-256 over names, modes, times and bytes of all files beside the state. */
char *folder_digest(Fixture *f);
