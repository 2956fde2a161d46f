/* Writes a state that has something in every table: the source of state_vN.db. Before a migration
 * is added, build it and keep what it writes (README.md beside this file). */
#include "state/read.h"
#include "state/write.h"
#include <stdio.h>

static json_t *member_new(const char *address, json_t *attrs)
{
	return json_pack("{s:s, s:i, s:i, s:i, s:O, s:{s:s, s:i}, s:[s], s:s, s:s}", "address",
		address, "index", 0, "attempt", 0, "generation", 0, "attrs", attrs, "pin",
		"instance_type", "p4d.24xlarge", "price_microusd_hour", 32772600, "depends_on",
		"aws.security_group.cluster", "group", "train", "origin", "/pools/train");
}

/* train[0] created, train[1] failed once, train[2] still open, train[3] removed. */
static bool write_journal(RgStore *store, const char *cluster, const char *run, RgDiags *diags)
{
	static const char *const addresses[] = {"aws.instance.train[0]", "aws.instance.train[1]",
		"aws.instance.train[2]", "aws.instance.train[3]"};
	json_auto_t *attrs =
		json_pack("{s:s, s:s}", "instance_type", "p4d.24xlarge", "user_data", "#!/bin/sh");
	json_auto_t *outputs = json_pack("{s:s}", "private_ip", "10.0.0.7");
	json_auto_t *input = json_pack("{s:s, s:i}", "kind", "aws.instance", "min_count", 1);
	json_auto_t *members = json_array();
	for (size_t i = 0; i < G_N_ELEMENTS(addresses); i++)
		json_array_append_new(members, member_new(addresses[i], attrs));
	RgJournalRow row = {.run = (char *)(uintptr_t)run,
		.kind = (char *)(uintptr_t) "aws.instance",
		.token = (char *)(uintptr_t) "00112233445566778899aabbccddeeff",
		.input = input,
		.members = members,
		.started_s = 1790000000};
	const RgMemberOutcome outcomes[] = {
		{.address = addresses[0], .created = true, .id = "i-0", .outputs = outputs},
		{.address = addresses[1]},
		{.address = addresses[3], .created = true, .id = "i-3", .outputs = outputs}};
	int64_t id;
	return rg_store_journal_open(store, cluster, &row, &id, diags) &&
	       rg_store_journal_settle(store, cluster, id, outcomes, 3, diags) &&
	       rg_store_leaving(store, cluster, &addresses[3], 1, true, diags) &&
	       rg_store_removed(store, cluster, &addresses[3], 1, diags);
}

static bool write_all(RgStore *store, const char *cluster, RgDiags *diags)
{
	g_autofree char *run = NULL, *lineage = NULL;
	json_auto_t *config = json_pack("{s:s}", "endpoint", "http://127.0.0.1:4566");
	json_auto_t *facts = json_pack("{s:{s:s}}", "network", "vpc_id", "vpc-1");
	json_auto_t *meta = json_pack("{s:s, s:s}", "command", "apply", "commit", "abc");
	json_auto_t *bad = json_pack("[{s:s, s:s, s:s, s:s, s:s, s:i, s:s}]", "gpu", "GPU-1", "id",
		"i-0", "serial", "1324", "address", "aws.instance.train[0]", "instance_type",
		"p4d.24xlarge", "code", 78, "reason", "step gate failed: GPU 0: Xid 79");
	g_autoptr(RgResource) group = rg_resource_new("aws.security_group", "cluster", -1);
	group->id = g_strdup("sg-1");
	group->attrs = json_pack("{s:s}", "vpc_id", "vpc-1");
	const RgRunBegin begin = {cluster, "aws", "us-east-1", config, facts, meta, "123456789012"};
	return rg_store_begin_run(store, &begin, &run, &lineage, diags) &&
	       rg_store_adopt(store, cluster, group, diags) &&
	       rg_store_put_secret(store, cluster, "raygpu.secret.ray_token", NULL,
		       "not-a-real-token", diags) &&
	       write_journal(store, cluster, run, diags) &&
	       rg_store_hardware_failed(store, cluster, bad, diags) &&
	       rg_store_end_run(store, run, "partial", diags);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 4;
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgStore) store = rg_store_open(argv[1], RG_STORE_WRITE, diags);
	g_autoptr(RgLock) lock = store ? rg_lock_take(store, "research", "apply", 0, diags) : NULL;
	if (lock && write_all(store, "research", diags))
		return 0;
	fprintf(stderr, "%s\n", rg_diags_get(diags, 0)->summary);
	return 1;
}
