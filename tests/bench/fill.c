/* Fills a state with the requested number of nodes, through the store's own calls: a cluster that
 * was really applied with one node per pool (index 0) gets the others as copies with their own ids,
 * addresses and volumes, in batches of 1,000 like apply. tests/bench/world.py writes
 * the cloud's answers from these records, and plan's "No changes." proves that both
 * agree. Usage: bench-fill STATE CLUSTER POOL=NODES... */
#include "base/clock.h"
#include "state/read.h"
#include "state/write.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIND "aws.instance"
#define BATCH 1000

typedef struct {
	RgStore *store;
	const char *cluster;
	RgSnapshot *snapshot;
	const char *run;
	int64_t made; /* nodes so far: makes their ids */
	RgDiags *diags;
} Filler;

/* What EC2 would have reported about the n-th node. */
static json_t *outputs_of(const RgResource *first, int64_t n)
{
	json_t *outputs = json_deep_copy(rg_resource_outputs(first));
	int a = (int)(n >> 16) & 255, b = (int)(n >> 8) & 255, c = (int)n & 255;
	json_object_set_new(outputs, "private_ip", json_sprintf("10.%d.%d.%d", a, b, c));
	json_object_set_new(
		outputs, "private_dns", json_sprintf("ip-10-%d-%d-%d.ec2.internal", a, b, c));
	json_object_set_new(
		outputs, "network_interface", json_sprintf("eni-%017llx", (long long)n));
	json_object_set_new(outputs, "root_volume_id", json_sprintf("vol-%017llx", (long long)n));
	return outputs;
}

static json_t *member_of(const RgResource *first, int64_t index)
{
	g_autofree char *address = rg_address_format(KIND, first->name, index);
	json_t *depends_on = json_array();
	for (size_t i = 0; first->depends_on && first->depends_on[i]; i++)
		json_array_append_new(depends_on, json_string(first->depends_on[i]));
	return json_pack("{s:s, s:I, s:i, s:I, s:O, s:O, s:o, s:s, s:s}", "address", address,
		"index", (json_int_t)index, "attempt", 0, "generation",
		(json_int_t)first->generation, "attrs", first->attrs, "pin", first->pin,
		"depends_on", depends_on, "group", first->group, "origin", first->origin);
}

/* One launch: nodes from..from+n-1 of the pool. */
static bool fill_batch(Filler *filler, const RgResource *first, int64_t from, int64_t n)
{
	g_autofree RgMemberOutcome *outcomes = g_new0(RgMemberOutcome, n);
	g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
	json_auto_t *members = json_array(), *all_outputs = json_array();
	for (int64_t i = 0; i < n; i++) {
		int64_t number = ++filler->made;
		char *address = rg_address_format(KIND, first->name, from + i);
		char *id = g_strdup_printf("i-%017" G_GINT64_MODIFIER "x", number);
		json_t *outputs = outputs_of(first, number);
		g_ptr_array_add(texts, address);
		g_ptr_array_add(texts, id);
		json_array_append_new(all_outputs, outputs);
		json_array_append_new(members, member_of(first, from + i));
		outcomes[i] = (RgMemberOutcome){
			.address = address, .created = true, .id = id, .outputs = outputs};
	}
	g_autofree char *token = g_strdup_printf("%032" G_GINT64_MODIFIER "x", filler->made);
	g_autofree char *run = g_strdup(filler->run), *kind = g_strdup(KIND);
	json_auto_t *input = json_pack("{s:s, s:s}", "kind", KIND, "token", token);
	RgJournalRow row = {
		.run = run, .kind = kind, .token = token, .input = input, .members = members};
	int64_t id;
	return rg_store_journal_open(filler->store, filler->cluster, &row, &id, filler->diags) &&
	       rg_store_journal_settle(
		       filler->store, filler->cluster, id, outcomes, (size_t)n, filler->diags);
}

/* "POOL=NODES" */
static bool fill_pool(Filler *filler, const char *word)
{
	g_auto(GStrv) parts = g_strsplit(word, "=", 2);
	g_autofree char *address = rg_address_format(KIND, parts[0], 0);
	const RgResource *first = rg_resource_set_find(filler->snapshot->recorded, address);
	if (!first || !parts[1]) {
		rg_diags_error(filler->diags, "state.corrupt", "no %s is recorded", address);
		return false;
	}
	int64_t nodes = g_ascii_strtoll(parts[1], NULL, 10);
	for (int64_t i = 1; i < nodes; i += BATCH) {
		if (!fill_batch(filler, first, i, MIN(BATCH, nodes - i)))
			return false;
	}
	return true;
}

static bool fill(Filler *filler, char **pools)
{
	const RgSnapshot *snapshot = filler->snapshot;
	g_autofree char *run = NULL, *lineage = NULL;
	const RgRunBegin begin = {.cluster = filler->cluster,
		.provider = snapshot->provider,
		.region = snapshot->region,
		.config = snapshot->config,
		.facts = snapshot->facts};
	bool ok = rg_store_begin_run(filler->store, &begin, &run, &lineage, filler->diags);
	filler->run = run;
	for (; ok && *pools; pools++)
		ok = fill_pool(filler, *pools);
	return ok && rg_store_end_run(filler->store, run, "done", filler->diags);
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: bench-fill STATE CLUSTER POOL=NODES...\n");
		return 4;
	}
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgStore) store = rg_store_open(argv[1], RG_STORE_WRITE, diags);
	g_autoptr(RgLock) lock = store ? rg_lock_take(store, argv[2], "bench", 0, diags) : NULL;
	Filler filler = {.store = store, .cluster = argv[2], .diags = diags};
	filler.snapshot = lock ? rg_store_load(store, argv[2], diags) : NULL;
	bool ok = filler.snapshot && fill(&filler, argv + 3);
	if (!ok)
		fprintf(stderr, "bench-fill: %s\n", rg_diags_get(diags, 0)->summary);
	rg_snapshot_free(filler.snapshot);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
