/* `state mv`: records at other addresses, and references in other records. */
#include "state_fixture.h"
#include <string.h>

#define T(i) "aws.instance.train[" #i "]"
#define B(i) "aws.instance.big[" #i "]"
#define GROUP "aws.placement_group.train"

static void adopt(Fixture *f, const char *kind, const char *name, int64_t index, json_t *attrs)
{
	g_autoptr(RgResource) resource = rg_resource_new(kind, name, index);
	resource->id = g_strdup_printf("id-%s", resource->address);
	resource->attrs = attrs;
	resource->depends_on = g_strsplit(index < 0 ? "" : GROUP, " ", 0);
	g_assert_true(rg_store_adopt(f->store, CLUSTER, resource, f->diags));
}

/* A placement group, and two nodes in it that the run created. */
static void fill(Fixture *f)
{
	fixture_open(f);
	int64_t row = open_batch(f, 0, 2);
	g_assert_true(settle_created(f, row, T(0), "i-0"));
	g_assert_true(settle_created(f, row, T(1), "i-1"));
	adopt(f, "aws.placement_group", "train", -1, json_pack("{s:s}", "strategy", "cluster"));
	adopt(f, "aws.instance", "serve", 0,
		json_pack("{s:{s:s, s:s}}", "group", "$ref", GROUP, "attr", "group_name"));
}

static bool move(Fixture *f, const RgMove *moves, size_t n)
{
	return rg_store_move(f->store, CLUSTER, moves, n, NULL, 0, f->diags);
}

static int64_t count(const Fixture *f, const char *sql)
{
	return query_int(f->path, sql);
}

static void test_a_record_keeps_what_it_is(Fixture *f, gconstpointer unused)
{
	fill(f);
	const RgMove moves[] = {{T(0), B(7), "big", "/pools/big"}, {T(1), B(1), "big", NULL}};
	g_autoptr(RgSnapshot) before = load(f);
	const RgResource *was = rg_resource_set_find(before->recorded, T(0));
	g_assert_true(move(f, moves, 2));
	g_autoptr(RgSnapshot) after = load(f);
	const RgResource *is = rg_resource_set_find(after->recorded, B(7));
	g_assert_null(rg_resource_set_find(after->recorded, T(0)));
	g_assert_cmpstr(is->id, ==, "i-0");
	g_assert_cmpstr(is->name, ==, "big");
	g_assert_cmpint(is->index, ==, 7);
	g_assert_cmpstr(is->group, ==, "big");
	g_assert_cmpstr(is->origin, ==, "/pools/big");
	g_assert_cmpstr(is->ownership, ==, "created");
	g_assert_cmpint(is->generation, ==, was->generation);
	g_assert_true(json_equal(is->attrs, was->attrs));
	g_assert_true(json_equal(is->pin, was->pin));
	g_assert_cmpint(is->created_s, ==, was->created_s);
	g_assert_cmpint(is->updated_s, >, was->updated_s); /* a saved plan is stale */
	g_assert_null(rg_resource_set_find(after->recorded, B(1))->origin);
	g_assert_cmpint(after->serial, ==, before->serial + 1);
	/* the marks in the cloud have the old address until the next apply */
	g_assert_true(is->mismarked);
	g_assert_cmpstr(is->marked_as, ==, T(0));
}

static void test_no_identity_of_either_address_comes_again(Fixture *f, gconstpointer unused)
{
	fill(f);
	int64_t generation, attempt;
	const RgMove there = {T(0), B(0), "big", NULL}, back = {B(0), T(0), "train", NULL};
	g_assert_true(move(f, &there, 1));
	g_assert_true(rg_store_identity(f->store, CLUSTER, T(0), &generation, &attempt, f->diags));
	g_assert_cmpint(generation, ==, 1);
	g_assert_true(rg_store_identity(f->store, CLUSTER, B(0), &generation, &attempt, f->diags));
	g_assert_cmpint(generation, ==, 1);
	g_assert_true(move(f, &back, 1));
	g_autoptr(RgSnapshot) after = load(f);
	g_assert_false(rg_resource_set_find(after->recorded, T(0))->mismarked);
}

static void test_the_lifetime_goes_along(Fixture *f, gconstpointer unused)
{
	fill(f);
	const RgMove moves = {T(1), B(3), "big", NULL};
	g_assert_true(move(f, &moves, 1));
	json_auto_t *lives = rg_store_lifetimes(f->store, CLUSTER, 0, f->diags);
	const json_t *life = json_array_get(lives, 1);
	g_assert_cmpuint(json_array_size(lives), ==, 2);
	g_assert_cmpstr(rg_json_str(life, "address", ""), ==, B(3));
	g_assert_cmpstr(rg_json_str(life, "pool", ""), ==, "big");
	g_assert_cmpstr(rg_json_str(life, "id", ""), ==, "i-1");
	g_assert_true(json_is_null(json_object_get(life, "ended_s")));
}

static void test_edits_are_no_updates(Fixture *f, gconstpointer unused)
{
	fill(f);
	const char *serve = "aws.instance.serve[0]";
	g_assert_true(rg_store_updating(f->store, CLUSTER, &serve, 1, 2, f->diags));
	g_assert_true(rg_store_updating(f->store, CLUSTER, &serve, 1, 1, f->diags));
	json_auto_t *attrs = json_pack(
		"{s:{s:s, s:s}}", "group", "$ref", "aws.placement_group.big", "attr", "group_name");
	json_auto_t *needs = json_pack("[s]", "aws.placement_group.big");
	const RgMove moves[] = {{GROUP, "aws.placement_group.big", NULL, "/pools/big/network"},
		{serve, "aws.instance.serve[4]", "serve", NULL}};
	const RgMoveEdit edits[] = {{"aws.instance.serve[4]", attrs, needs}, {T(0), attrs, NULL}};
	int64_t blobs = count(f, "SELECT count(*) FROM blobs");
	g_assert_true(rg_store_move(f->store, CLUSTER, moves, 2, edits, 2, f->diags));
	g_autoptr(RgSnapshot) after = load(f);
	const RgResource *node = rg_resource_set_find(after->recorded, "aws.instance.serve[4]");
	g_assert_true(json_equal(node->attrs, attrs));
	g_assert_cmpstr(node->depends_on[0], ==, "aws.placement_group.big");
	g_assert_true(node->updating);
	g_assert_cmpuint(node->updates, ==, 3);
	g_assert_cmpstr(node->marked_as, ==, serve);
	node = rg_resource_set_find(after->recorded, T(0));
	g_assert_true(json_equal(node->attrs, attrs));
	g_assert_cmpstr(node->depends_on[0], ==, "aws.security_group.cluster");
	g_assert_false(node->mismarked);
	/* the nodes' old attributes have one user left, the other's none */
	g_assert_cmpint(count(f, "SELECT count(*) FROM blobs"), ==, blobs);
	g_assert_cmpint(count(f, "SELECT count(*) FROM blobs WHERE sha256 NOT IN"
				 " (SELECT attrs FROM resources)"),
		==, 0);
}

/* All or none: a failed move leaves no trace of the earlier ones in the file. */
static void check_refused(
	Fixture *f, const RgMove *moves, size_t n, const RgMoveEdit *edit, const char *word)
{
	g_autoptr(RgSnapshot) before = load(f);
	g_assert_false(rg_store_move(f->store, CLUSTER, moves, n, edit, edit != NULL, f->diags));
	const RgDiag *diag = assert_code(f->diags, "state.moved");
	g_assert_nonnull(strstr(diag->summary, word));
	g_assert_nonnull(diag->hint);
	diags_reset(f);
	g_autoptr(RgSnapshot) after = load(f);
	g_assert_cmpint(after->serial, ==, before->serial);
	g_assert_nonnull(rg_resource_set_find(after->recorded, T(0)));
	g_assert_null(rg_resource_set_find(after->recorded, B(0)));
}

static void test_what_is_refused(Fixture *f, gconstpointer unused)
{
	fill(f);
	open_batch(f, 5, 1);
	const RgMove first = {T(0), B(0), "big", NULL};
	const RgMove taken[] = {first, {T(1), B(0), "big", NULL}};
	const RgMove to_open[] = {first, {T(1), T(5), "train", NULL}};
	const RgMove open[] = {first, {T(5), B(5), "big", NULL}};
	const RgMove none[] = {first, {T(9), B(9), "big", NULL}};
	const RgMove kind[] = {first, {T(1), "aws.volume.x", NULL, NULL}};
	const RgMoveEdit gone = {.address = T(8)};
	check_refused(f, taken, 2, NULL, "is already recorded");
	check_refused(f, to_open, 2, NULL, "train[5] is still open");
	check_refused(f, open, 2, NULL, "train[5] is still open");
	check_refused(f, none, 2, NULL, "it is gone");
	check_refused(f, kind, 2, NULL, "it is gone");
	check_refused(f, &first, 1, &gone, "is no longer recorded");
}

static void test_a_removal_goes_on_at_the_new_address(Fixture *f, gconstpointer unused)
{
	fill(f);
	const char *leaving = T(1);
	const RgMove moves[] = {{T(0), B(0), "big", NULL}, {T(1), B(1), "big", NULL}};
	g_assert_true(rg_store_leaving(f->store, CLUSTER, &leaving, 1, true, f->diags));
	g_assert_true(move(f, moves, 2));
	g_autoptr(RgSnapshot) after = load(f);
	g_assert_false(rg_resource_set_find(after->recorded, B(0))->leaving);
	g_assert_true(rg_resource_set_find(after->recorded, B(1))->leaving);
}

static void test_moves_stand_in_the_run(Fixture *f, gconstpointer unused)
{
	fill(f);
	const RgMove moves = {T(0), B(0), "big", NULL};
	g_assert_true(move(f, &moves, 1));
	json_auto_t *changes = rg_store_run_changes(f->store, f->run, f->diags);
	const json_t *last = json_array_get(changes, json_array_size(changes) - 1);
	g_assert_cmpstr(rg_json_str(last, "action", ""), ==, "move");
	g_assert_cmpstr(rg_json_str(last, "address", ""), ==, B(0));
	g_assert_cmpstr(rg_json_str(last, "outcome", ""), ==, "done");
}

#define ADD(path, function)                                                                        \
	g_test_add("/state/move/" path, Fixture, NULL, fixture_up, function, fixture_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("a-record-keeps-what-it-is", test_a_record_keeps_what_it_is);
	ADD("no-identity-comes-again", test_no_identity_of_either_address_comes_again);
	ADD("the-lifetime-goes-along", test_the_lifetime_goes_along);
	ADD("edits-are-no-updates", test_edits_are_no_updates);
	ADD("what-is-refused", test_what_is_refused);
	ADD("a-removal-goes-on", test_a_removal_goes_on_at_the_new_address);
	ADD("moves-stand-in-the-run", test_moves_stand_in_the_run);
	return g_test_run();
}
