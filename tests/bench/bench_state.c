/* Prints what the state costs: durable intent and outcome pairs a second, and the time to load
 * 10,000 recorded nodes. Numbers are for reading; nothing is asserted. Usage: bench_state [FOLDER]
 * (a new file in it, /tmp as a rule: mind whether that is a disk). */
#include "base/clock.h"
#include "state/read.h"
#include "state/write.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PAIRS 1000
#define NODES 10000
#define BATCH 100

static json_t *member_new(const char *address, int64_t index, json_t *attrs)
{
	return json_pack("{s:s, s:I, s:i, s:i, s:O, s:{s:s, s:s, s:i}, s:[s, s], s:s, s:s}",
		"address", address, "index", (json_int_t)index, "attempt", 0, "generation", 0,
		"attrs", attrs, "pin", "instance_type", "p4d.24xlarge", "zone", "us-east-1a",
		"price_microusd_hour", 32772600, "depends_on", "aws.network_interface.head",
		"aws.security_group.cluster", "group", "train", "origin", "/pools/train");
}

static bool create(RgStore *store, const char *pool, int64_t from, int64_t n, RgDiags *diags)
{
	g_autofree char *script = g_strnfill(8000, '#');
	json_auto_t *attrs =
		json_pack("{s:s, s:s}", "instance_type", "p4d.24xlarge", "user_data", script);
	json_auto_t *members = json_array();
	g_autofree RgMemberOutcome *outcomes = g_new0(RgMemberOutcome, n);
	g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
	json_auto_t *all_outputs = json_array();
	for (int64_t i = 0; i < n; i++) {
		char *address = rg_address_format("aws.instance", pool, from + i);
		char *id = g_strdup_printf("i-%s%016" G_GINT64_MODIFIER "x", pool, from + i);
		json_t *outputs = json_pack("{s:s, s:s, s:s}", "private_ip", "10.1.2.3", "zone",
			"us-east-1a", "volume_id", id);
		g_ptr_array_add(texts, address);
		g_ptr_array_add(texts, id);
		json_array_append_new(all_outputs, outputs);
		json_array_append_new(members, member_new(address, from + i, attrs));
		outcomes[i] = (RgMemberOutcome){
			.address = address, .created = true, .id = id, .outputs = outputs};
	}
	RgJournalRow row = {.kind = (char *)(uintptr_t)pool,
		.token = (char *)(uintptr_t)pool,
		.input = attrs,
		.members = members};
	int64_t id;
	return rg_store_journal_open(store, "bench", &row, &id, diags) &&
	       rg_store_journal_settle(store, "bench", id, outcomes, (size_t)n, diags);
}

static bool measure_pairs(RgStore *store, const char *what, const char *pool, RgDiags *diags)
{
	int64_t before = rg_clock_monotonic_ms();
	for (int64_t i = 0; i < PAIRS; i++) {
		if (!create(store, pool, i, 1, diags))
			return false;
	}
	double seconds = (double)(rg_clock_monotonic_ms() - before) / 1000;
	printf("%-46s %8.0f pairs/s  (%.3f ms each)\n", what, PAIRS / seconds,
		seconds * 1000 / PAIRS);
	return true;
}

static bool fill(RgStore *store, RgDiags *diags)
{
	int64_t before = rg_clock_monotonic_ms();
	for (int64_t i = 0; i < NODES; i += BATCH) {
		if (!create(store, "nodes", i, BATCH, diags))
			return false;
	}
	printf("%-46s %8" G_GINT64_FORMAT " ms\n", "create 10,000 nodes in batches of 100",
		rg_clock_monotonic_ms() - before);
	return true;
}

static bool measure_load(RgStore *store, RgDiags *diags)
{
	for (int i = 0; i < 3; i++) {
		int64_t before = rg_clock_monotonic_ms();
		g_autoptr(RgSnapshot) snapshot = rg_store_load(store, "bench", diags);
		if (!snapshot)
			return false;
		printf("load %-41zu %8" G_GINT64_FORMAT " ms\n",
			rg_resource_set_size(snapshot->recorded), rg_clock_monotonic_ms() - before);
	}
	return true;
}

static bool run(RgStore *store, RgDiags *diags)
{
	g_autofree char *run_id = NULL, *lineage = NULL;
	const RgRunBegin begin = {.cluster = "bench", .provider = "aws", .region = "us-east-1"};
	return rg_store_begin_run(store, &begin, &run_id, &lineage, diags) &&
	       measure_pairs(store, "intent + outcome, empty state", "first", diags) &&
	       fill(store, diags) &&
	       measure_pairs(store, "intent + outcome, 11,000 recorded", "second", diags) &&
	       measure_load(store, diags);
}

int main(int argc, char **argv)
{
	g_autofree char *path = g_strdup_printf(
		"%s/raygpu-bench-%d.db", argc > 1 ? argv[1] : g_get_tmp_dir(), (int)getpid());
	g_autofree char *lock_path = g_strconcat(path, ".bench.lock", NULL);
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgStore) store = rg_store_open(path, RG_STORE_WRITE, diags);
	g_autoptr(RgLock) lock = store ? rg_lock_take(store, "bench", "bench", 0, diags) : NULL;
	bool ok = lock && run(store, diags);
	unlink(lock_path);
	unlink(path);
	if (!ok)
		fprintf(stderr, "%s\n", rg_diags_get(diags, 0)->summary);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
