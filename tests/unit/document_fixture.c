#include "document_fixture.h"
#include <string.h>

char *pull_text(RgStore *store, RgDiags *diags)
{
	json_auto_t *document = rg_state_pull(store, NULL, NULL, diags);
	assert_fine(diags);
	char *dumped = json_dumps(document, JSON_INDENT(2));
	char *text = g_strdup(dumped);
	free(dumped);
	return text;
}

void pair_up(Pair *pair, gconstpointer unused)
{
	fixture_up(&pair->own, NULL);
	fixture_up(&pair->other, NULL);
}

void pair_down(Pair *pair, gconstpointer unused)
{
	fixture_down(&pair->own, NULL);
	fixture_down(&pair->other, NULL);
}

json_t *parse(const char *text, bool force, RgDiags *diags)
{
	return rg_state_document_parse(text, strlen(text), "state.json", force, diags);
}

json_t *push(Fixture *to, const char *text, bool force, char **backup)
{
	g_autofree char *unused = NULL;
	json_auto_t *document = parse(text, force, to->diags);
	json_auto_t *meta = json_pack("{s:s}", "command", "state push --force");
	if (!document)
		return NULL;
	fixture_close(to);
	to->store = rg_store_open(to->path, RG_STORE_WRITE, to->diags);
	g_auto(GStrv) names = rg_state_document_clusters(document);
	g_autoptr(GPtrArray) locks =
		g_ptr_array_new_with_free_func((GDestroyNotify)(void *)rg_lock_release);
	for (char **name = names; *name != NULL; name++)
		g_ptr_array_add(locks, rg_lock_take(to->store, *name, "state push", 0, to->diags));
	return rg_state_push(
		to->store, document, force, meta, backup ? backup : &unused, to->diags);
}

static json_t *random_attrs(GRand *rand)
{
	static const char *const texts[] = {"", "x", "ü\"\\\n", "$ref", "null", "1e5"};
	json_t *attrs = json_pack("{s:s, s:i}", "instance_type", "p4d.24xlarge", "size",
		g_rand_int_range(rand, 0, 3));
	g_autofree char *many = g_strnfill(3000, 'a' + (char)g_rand_int_range(rand, 0, 3));
	if (g_rand_boolean(rand))
		json_object_set_new(attrs, "user_data", json_string(many));
	if (g_rand_boolean(rand))
		json_object_set_new(attrs, "list",
			json_pack("[n, b, f, [], {s:s}]", 1, g_rand_double(rand), "k", many));
	if (g_rand_boolean(rand)) /* looks like the placeholder of a long value */
		json_object_set_new(attrs, "odd", json_pack("{s:s}", "$blob", "none"));
	if (g_rand_boolean(rand))
		json_object_set_new(attrs, "subnet_id",
			json_pack(
				"{s:s, s:s}", "$ref", "raygpu.secret.ray_token", "attr", "value"));
	json_object_set_new(attrs, texts[g_rand_int_range(rand, 0, G_N_ELEMENTS(texts))],
		json_string(texts[g_rand_int_range(rand, 0, G_N_ELEMENTS(texts))]));
	return attrs;
}

static void adopt_random(Fixture *f, GRand *rand, int number)
{
	g_autoptr(RgResource) node =
		rg_resource_new("aws.instance", g_rand_boolean(rand) ? "train" : "serve", number);
	node->group = g_rand_boolean(rand) ? node->name : NULL;
	node->origin = g_rand_boolean(rand) ? "/pools/train" : NULL;
	node->id = g_strdup_printf("i-%s-%d", node->name, number);
	node->attrs = random_attrs(rand);
	node->outputs_json =
		g_rand_boolean(rand) ? json_pack("{s:s}", "private_ip", "10.0.0.1") : NULL;
	node->pin = g_rand_boolean(rand) ? json_pack("{s:I}", "price_microusd_hour",
						   (json_int_t)g_rand_int_range(rand, 0, 9))
					 : NULL;
	node->depends_on =
		g_rand_boolean(rand) ? g_strsplit("raygpu.secret.ray_token", " ", -1) : NULL;
	node->mismarked = g_rand_int_range(rand, 0, 4) == 0;
	node->marked_as = node->mismarked ? g_strdup("aws.instance.before[7]") : NULL;
	rg_store_adopt(f->store, CLUSTER, node, f->diags);
}

static void change_random(Fixture *f, GRand *rand, const char *address)
{
	json_auto_t *attrs = random_attrs(rand);
	json_auto_t *pin =
		json_pack("{s:I}", "price_microusd_hour", (json_int_t)g_rand_int_range(rand, 0, 9));
	json_auto_t *pools = json_pack("[s]", g_rand_boolean(rand) ? "train" : "serve");
	json_auto_t *bad = json_pack("[{s:s, s:s, s:s, s:s}]", "gpu", "GPU-a", "id", address,
		"address", address, "reason", "Xid 79");
	g_autoptr(RgSnapshot) before = rg_store_load(f->store, CLUSTER, f->diags);
	const RgResource *record = rg_resource_set_find(before->recorded, address);
	switch (g_rand_int_range(rand, 0, 7)) {
	case 0:
		rg_store_record(f->store, CLUSTER, address, attrs, NULL, pin, f->diags);
		break;
	case 1:
		rg_store_leaving(f->store, CLUSTER, &address, 1, true, f->diags);
		break;
	case 2:
		rg_store_updating(f->store, CLUSTER, &address, 1, 2, f->diags);
		break;
	case 3:
		remove_records(f, &address, 1);
		break;
	case 4:
		rg_store_hardware_failed(f->store, CLUSTER, bad, f->diags);
		break;
	case 5:
		rg_store_gone(f->store, CLUSTER, &(RgGone){address, record ? record->id : NULL}, 1,
			f->diags);
		break;
	default:
		rg_store_protect(f->store, CLUSTER, pools, f->diags);
		break;
	}
}

/* What the nodes of state_fixture.h refer to. */
static void add_group(Fixture *f)
{
	g_autoptr(RgResource) group = rg_resource_new("aws.security_group", "cluster", -1);
	group->id = g_strdup_printf("sg-%.8s", f->lineage);
	group->attrs = json_object();
	g_assert_true(rg_store_adopt(f->store, CLUSTER, group, f->diags));
}

void fill(Fixture *f, guint32 seed)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
	for (int run = g_rand_int_range(rand, 1, 4); run > 0; run--) {
		fixture_open(f);
		add_group(f);
		rg_store_put_secret(f->store, CLUSTER, "raygpu.secret.ray_token", NULL,
			"s3cr3t-token", f->diags);
		int64_t row = open_batch(f, 100 * run, 3);
		for (int i = 0; i < 3; i++) {
			g_autofree char *address =
				rg_address_format("aws.instance", "train", 100 * run + i);
			g_autofree char *id = g_strdup_printf("i-batch-%d-%d", run, i);
			if (g_rand_boolean(rand))
				settle_created(f, row, address, id);
			else
				settle_failed(f, row, address);
		}
		for (int i = g_rand_int_range(rand, 0, 12); i > 0; i--)
			adopt_random(f, rand, g_rand_int_range(rand, 0, 20));
		g_autoptr(RgSnapshot) snapshot = load(f);
		for (int i = g_rand_int_range(rand, 0, 12); i > 0; i--) {
			size_t n = rg_resource_set_size(snapshot->recorded);
			const RgResource *one = rg_resource_set_get(
				snapshot->recorded, (size_t)g_rand_int_range(rand, 0, (gint32)n));
			if (one->index >= 0)
				change_random(f, rand, one->address);
		}
		if (g_rand_boolean(rand))
			rg_store_end_run(f->store, f->run, "done", f->diags);
		diags_reset(f); /* refusals do not matter here */
		fixture_close(f);
	}
	f->store = rg_store_open(f->path, RG_STORE_READ, f->diags);
	assert_fine(f->diags);
}

void check_file(const Fixture *f)
{
	g_assert_cmpint(query_int(f->path, "SELECT count(*) FROM pragma_integrity_check"
					   " WHERE integrity_check = 'ok'"),
		==, 1);
	g_assert_cmpint(query_int(f->path, "SELECT count(*) FROM pragma_foreign_key_check"), ==, 0);
	g_assert_cmpint(query_int(f->path, "SELECT count(*) FROM blobs WHERE sha256 NOT IN"
					   " (SELECT attrs FROM resources)"),
		==, 0);
}

void add_node(Fixture *f, int64_t index, const char *id)
{
	g_autofree char *address = rg_address_format("aws.instance", "train", index);
	fixture_close(f);
	fixture_open(f);
	add_group(f);
	g_assert_true(settle_created(f, open_batch(f, index, 1), address, id));
	assert_fine(f->diags);
}

char *old_document(Fixture *f)
{
	add_node(f, 0, "i-0");
	g_assert_true(rg_store_forget(f->store, CLUSTER, "aws.instance.train[0]", f->diags));
	add_node(f, 1, "i-1");
	return pull_text(f->store, f->diags);
}

char *edited(const char *text, const char *pointer, const char *key, json_t *value)
{
	json_auto_t *document = json_loads(text, 0, NULL);
	json_t *at = rg_json_at(document, pointer);
	g_assert_nonnull(at);
	if (json_is_array(at))
		json_array_append_new(at, value);
	else
		json_object_set_new(at, key, value);
	char *dumped = json_dumps(document, JSON_INDENT(2));
	char *copy = g_strdup(dumped);
	free(dumped);
	return copy;
}

void check_refused(Fixture *f, const char *text, bool force, const char *code)
{
	fixture_close(f);
	diags_reset(f);
	g_autofree char *before = folder_digest(f);
	json_auto_t *document = parse(text, force, f->diags);
	if (document) {
		g_autoptr(RgStore) store = rg_store_open(f->path, RG_STORE_READ, f->diags);
		g_assert_null(rg_state_push_look(store, document, force, f->diags));
	}
	g_autofree char *after = folder_digest(f);
	g_assert_cmpstr(before, ==, after);
	g_assert_cmpstr(rg_diags_get(f->diags, 0)->code, ==, code);
	g_assert_nonnull(rg_diags_get(f->diags, 0)->hint);
	diags_reset(f);
	if (!document)
		return;
	g_assert_null(push(f, text, force, NULL));
	g_assert_cmpstr(rg_diags_get(f->diags, 0)->code, ==, code);
	diags_reset(f);
}
