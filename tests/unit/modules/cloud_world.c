/* The resources of the tiny cloud, in its world file; results; the faults of its script; its log.
 */
#include "cloud.h"
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/stat.h>
#include <unistd.h>

const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

/* Kept until the end of the call: a lost answer reports nothing. */
void give(Run *run, const char *slot, json_t *value)
{
	json_array_append_new(run->results, json_pack("[s, o]", slot, value));
}

void give_all(const Run *run)
{
	size_t i;
	const json_t *result;
	json_array_foreach (run->results, i, result) {
		char *text = json_dumps(json_array_get(result, 1), JSON_COMPACT);
		run->host->result(run->call, json_string_value(json_array_get(result, 0)),
			(struct rgp_bytes){text, strlen(text)});
		free(text);
	}
}

/* ---- the world */

/* Kept parsed until someone else writes the file: another process, or the test. */
static json_t *cached;
static struct stat cached_file;

static int is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

json_t *world_load(const Run *run)
{
	struct stat now;
	const char *path = text_of(run->inst->config, "world");
	if (stat(path, &now) == 0 && cached && is_same(&now, &cached_file))
		return cached;
	json_decref(cached);
	cached = json_load_file(path, 0, NULL);
	if (!cached)
		cached = json_pack("{s:[], s:{}}", "things", "calls");
	if (stat(path, &cached_file) != 0)
		memset(&cached_file, 0, sizeof(cached_file));
	return cached;
}

/* Renamed into place: a process may be killed at any time. */
void world_save(const Run *run)
{
	char path[4096];
	const char *name = text_of(run->inst->config, "world");
	snprintf(path, sizeof(path), "%s.new", name);
	json_dump_file(run->world, path, JSON_COMPACT);
	rename(path, name);
	stat(name, &cached_file);
}

const json_t *count_call(Run *run)
{
	json_t *calls = json_object_get(run->world, "calls");
	const json_t *faults =
		json_object_get(json_object_get(run->inst->config, "script"), run->verb);
	json_int_t n = json_integer_value(json_object_get(calls, run->verb));
	if (!faults)
		return NULL;
	json_object_set_new(calls, run->verb, json_integer(n + 1));
	world_save(run);
	return json_array_get(faults, (size_t)n);
}

int64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

json_t *find_thing(const Run *run, const char *key, const char *value, const char *address)
{
	size_t i;
	json_t *thing;
	json_array_foreach (json_object_get(run->world, "things"), i, thing) {
		if (!strcmp(text_of(thing, key), value) &&
			(!address || !strcmp(text_of(thing, "address"), address)))
			return thing;
	}
	return NULL;
}

/* Ids are consecutive, so that look-ups need no search among up to 10,000. */
json_t *thing_of_id(const Run *run, const char *id)
{
	return strncmp(id, "id-", 3) ? NULL
				     : json_array_get(json_object_get(run->world, "things"),
					       strtoul(id + 3, NULL, 10));
}

json_t *make_thing(Run *run, const char *address)
{
	char id[64];
	json_t *things = json_object_get(run->world, "things");
	const json_t *marks = json_object_get(run->input, "marks");
	snprintf(id, sizeof(id), "id-%zu", json_array_size(things));
	json_t *thing = json_pack("{s:s, s:s, s:s, s:s, s:s, s:O, s:b, s:i, s:i, s:I}", "id", id,
		"kind", text_of(run->input, "kind"), "address", address, "token",
		text_of(run->input, "token"), "lineage", text_of(marks, "lineage"), "attributes",
		json_object_get(run->input, "attributes"), "gone", 0, "version", 1, "looks", 0,
		"made_ms", (json_int_t)now_ms());
	json_array_append_new(things, thing);
	return thing;
}

/* ---- faults */

int has(const Run *run, const char *name)
{
	return json_object_get(run->fault, name) != NULL;
}

int may_die(const Run *run, const char *when)
{
	if (!strcmp(text_of(run->fault, "kill"), when))
		kill(getpid(), SIGKILL);
	return 0;
}

rgp_status nap(const Run *run, const char *name)
{
	const json_t *ms = json_object_get(run->fault, name);
	return ms ? run->host->sleep_ms(run->call, (uint32_t)json_integer_value(ms)) : RGP_OK;
}

rgp_status fail_call(const Run *run)
{
	const struct rgp_diag diag = {.size = sizeof(diag),
		.class_ = RGP_CLASS_TRANSIENT,
		.summary = "the answer was lost"};
	run->host->diag(run->call, &diag);
	return RGP_FAIL;
}

void give_failed(Run *run, const char *address, const char *class_, int definite, const char *id)
{
	json_t *item = json_pack("{s:s, s:s, s:s, s:s, s:b}", "address", address, "outcome",
		"failed", "class", class_, "message", "the script wants it", "definite", definite);
	if (id)
		json_object_set_new(item, "id", json_string(id));
	give(run, "item", item);
}

void write_log(const Run *run, const char *word)
{
	size_t i;
	const json_t *item;
	FILE *file = fopen(text_of(run->inst->config, "log"), "a");
	if (!file)
		return;
	fprintf(file, "%s", word);
	json_array_foreach (json_object_get(run->input, "items"), i, item) {
		if (i < 5)
			fprintf(file, " %s", text_of(item, "address"));
	}
	fprintf(file, "\n");
	fclose(file);
}

/* Rule 1, checked from outside: the row is in the file, with all members, before the request. */
void check_journal(const Run *run)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *statement = NULL;
	const char *path = text_of(run->inst->config, "state");
	int members = -1;
	if (!*path)
		return;
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK) {
		sqlite3_busy_timeout(db, 10000);
		sqlite3_prepare_v2(db,
			"SELECT count(*) FROM journal_members JOIN journal ON journal = journal.id"
			" WHERE token = ?1 AND input LIKE '%\"items\"%'",
			-1, &statement, NULL);
		sqlite3_bind_text(statement, 1, text_of(run->input, "token"), -1, SQLITE_STATIC);
		if (sqlite3_step(statement) == SQLITE_ROW)
			members = sqlite3_column_int(statement, 0);
		sqlite3_finalize(statement);
	}
	sqlite3_close(db);
	if (members < 1)
		write_log(run, "unjournalled");
}
