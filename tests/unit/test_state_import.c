/* `import`: existing resources become records, all or none. */
#include "state_fixture.h"
#include <string.h>

#define T(i) "aws.instance.train[" #i "]"
#define OTHER "other"

static RgResource *thing_new(const char *name, int64_t index, const char *id)
{
	RgResource *thing = rg_resource_new("aws.instance", name, index);
	thing->id = g_strdup(id);
	thing->attrs = json_pack("{s:s}", "instance_type", "p4d.24xlarge");
	thing->outputs_json = json_pack("{s:s}", "private_ip", "10.0.0.7");
	thing->pin = json_pack("{s:i}", "price_microusd_hour", 32772600);
	thing->group = name;
	thing->origin = "/pools/train";
	thing->mismarked = true;
	return thing;
}

static void free_thing(gpointer thing)
{
	rg_resource_free(thing);
}

static GPtrArray *list_new(void)
{
	return g_ptr_array_new_with_free_func(free_thing);
}

static RgResource *secret_new(void)
{
	RgResource *secret = rg_resource_new(RG_SECRET_KIND, "ray_token", -1);
	secret->attrs = json_object();
	secret->outputs_json = json_pack("{s:s}", "value", "s3cr3t");
	return secret;
}

static void test_things_become_records(Fixture *f, gconstpointer unused)
{
	g_autoptr(GPtrArray) things = list_new();
	g_ptr_array_add(things, thing_new("train", 0, "i-0"));
	g_ptr_array_add(things, thing_new("train", 1, "i-1"));
	g_ptr_array_add(things, secret_new());
	fixture_open(f);
	g_autoptr(RgSnapshot) before = load(f);
	g_assert_true(rg_store_import(f->store, CLUSTER, things, f->diags));
	g_autoptr(RgSnapshot) after = load(f);
	g_assert_cmpint(after->serial, ==, before->serial + 1);
	const RgResource *node = rg_resource_set_find(after->recorded, T(1));
	g_assert_cmpstr(node->id, ==, "i-1");
	g_assert_cmpstr(node->ownership, ==, "adopted");
	g_assert_cmpstr(node->group, ==, "train");
	g_assert_cmpstr(node->origin, ==, "/pools/train");
	g_assert_cmpstr(rg_json_str(rg_resource_outputs(node), "private_ip", ""), ==, "10.0.0.7");
	/* it has none of our marks yet: the next apply writes them */
	g_assert_true(node->mismarked);
	g_assert_null(node->marked_as);
	const RgResource *secret = rg_resource_set_find(after->recorded, RG_SECRET_RAY_TOKEN);
	g_assert_cmpstr(secret->ownership, ==, "created");
	g_assert_cmpstr(rg_json_str(rg_resource_outputs(secret), "value", ""), ==, "s3cr3t");
	json_auto_t *lives = rg_store_lifetimes(f->store, CLUSTER, 0, f->diags);
	g_assert_cmpuint(json_array_size(lives), ==, 2);
	json_auto_t *changes = rg_store_run_changes(f->store, f->run, f->diags);
	g_assert_cmpuint(json_array_size(changes), ==, 3);
	g_assert_cmpstr(rg_json_str(json_array_get(changes, 0), "action", ""), ==, "import");
}

/* The earlier resource at an address had identities that the cloud has seen. */
static void test_an_address_goes_on_counting(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	const char *address = T(0);
	g_assert_true(settle_created(f, open_batch(f, 0, 1), address, "i-before"));
	g_assert_true(rg_store_forget(f->store, CLUSTER, address, f->diags));
	g_autoptr(GPtrArray) things = list_new();
	g_ptr_array_add(things, thing_new("train", 0, "i-0"));
	g_assert_true(rg_store_import(f->store, CLUSTER, things, f->diags));
	g_autoptr(RgSnapshot) after = load(f);
	g_assert_cmpint(rg_resource_set_find(after->recorded, address)->generation, ==, 1);
	int64_t generation, attempt;
	g_assert_true(
		rg_store_identity(f->store, CLUSTER, address, &generation, &attempt, f->diags));
	g_assert_cmpint(generation, ==, 2);
}

static void check_refused(Fixture *f, RgResource *last, const char *code, const char *word)
{
	g_autoptr(GPtrArray) things = list_new();
	g_ptr_array_add(things, thing_new("fine", 0, "i-fine"));
	g_ptr_array_add(things, last);
	g_autoptr(RgSnapshot) before = load(f);
	g_assert_false(rg_store_import(f->store, CLUSTER, things, f->diags));
	const RgDiag *diag = assert_code(f->diags, code);
	g_assert_nonnull(strstr(diag->summary, word));
	g_assert_cmpstr(diag->address, ==, last->address);
	g_assert_nonnull(diag->hint);
	diags_reset(f);
	g_autoptr(RgSnapshot) after = load(f);
	g_assert_cmpint(after->serial, ==, before->serial);
	g_assert_null(rg_resource_set_find(after->recorded, "aws.instance.fine[0]"));
}

/* A record of another cluster of the file: i-other in `region`. */
static void fill_other(Fixture *f, const char *region)
{
	g_autofree char *run = NULL, *lineage = NULL;
	const RgRunBegin begin = {.cluster = OTHER, .provider = "aws", .region = region};
	g_autoptr(RgLock) lock = rg_lock_take(f->store, OTHER, "import", 0, f->diags);
	g_assert_nonnull(lock);
	g_autoptr(GPtrArray) things = list_new();
	g_ptr_array_add(things, thing_new("train", 0, "i-other"));
	g_assert_true(rg_store_begin_run(f->store, &begin, &run, &lineage, f->diags));
	g_assert_true(rg_store_import(f->store, OTHER, things, f->diags));
	g_autofree char *own = NULL, *same = NULL;
	const RgRunBegin back = {.cluster = CLUSTER, .provider = "aws", .region = "us-east-1"};
	g_assert_true(rg_store_begin_run(f->store, &back, &own, &same, f->diags));
}

static void test_one_that_is_refused_keeps_all_out(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	fill_other(f, "us-east-1");
	g_assert_true(settle_created(f, open_batch(f, 0, 2), T(0), "i-0"));
	check_refused(
		f, thing_new("train", 0, "i-7"), "state.moved", "is already recorded, as i-0");
	check_refused(f, thing_new("train", 1, "i-7"), "state.moved", "train[1] is still open");
	check_refused(f, thing_new("train", 9, "i-0"), "import.refused",
		"aws.instance.train[0] of cluster research");
	check_refused(f, thing_new("train", 9, "i-other"), "import.refused",
		"aws.instance.train[0] of cluster other");
}

/* The same id in another region is another resource. */
static void test_other_regions_do_not_count(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	fill_other(f, "eu-west-1");
	g_autofree char *here = rg_store_find_holder(
		f->store, "aws", "us-east-1", "aws.instance", "i-other", f->diags);
	g_autofree char *there = rg_store_find_holder(
		f->store, "aws", "eu-west-1", "aws.instance", "i-other", f->diags);
	g_autofree char *kind = rg_store_find_holder(
		f->store, "aws", "eu-west-1", "aws.volume", "i-other", f->diags);
	g_assert_null(here);
	g_assert_cmpstr(there, ==, "aws.instance.train[0] of cluster other");
	g_assert_null(kind);
	g_autoptr(GPtrArray) things = list_new();
	g_ptr_array_add(things, thing_new("train", 0, "i-other"));
	g_assert_true(rg_store_import(f->store, CLUSTER, things, f->diags));
}

static void test_an_unknown_cluster_is_an_error(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	g_autoptr(RgLock) lock = rg_lock_take(f->store, OTHER, "import", 0, f->diags);
	g_assert_nonnull(lock);
	g_autoptr(GPtrArray) things = list_new();
	g_ptr_array_add(things, thing_new("train", 0, "i-0"));
	g_assert_false(rg_store_import(f->store, OTHER, things, f->diags));
	assert_code(f->diags, "state.no-such-cluster");
}

/* An unreadable record must not make an address look unused. */
static void test_unreadable_identities_keep_all_out(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	g_autoptr(RgSnapshot) before = load(f);
	execute(f->path, "ALTER TABLE identities RENAME COLUMN attempt TO trial");
	g_autoptr(GPtrArray) things = list_new();
	g_ptr_array_add(things, thing_new("train", 0, "i-0"));
	g_assert_false(rg_store_import(f->store, CLUSTER, things, f->diags));
	assert_code(f->diags, "state.corrupt");
	diags_reset(f);
	execute(f->path, "ALTER TABLE identities RENAME COLUMN trial TO attempt");
	g_autoptr(RgSnapshot) after = load(f);
	g_assert_cmpint(after->serial, ==, before->serial);
	g_assert_null(rg_resource_set_find(after->recorded, T(0)));
}

#define ADD(path, function)                                                                        \
	g_test_add("/state/import/" path, Fixture, NULL, fixture_up, function, fixture_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("things-become-records", test_things_become_records);
	ADD("an-address-goes-on-counting", test_an_address_goes_on_counting);
	ADD("one-that-is-refused-keeps-all-out", test_one_that_is_refused_keeps_all_out);
	ADD("other-regions-do-not-count", test_other_regions_do_not_count);
	ADD("an-unknown-cluster-is-an-error", test_an_unknown_cluster_is_an_error);
	ADD("unreadable-identities-keep-all-out", test_unreadable_identities_keep_all_out);
	return g_test_run();
}
