/* The module over real HTTP against a scripted server, with a clock that jumps: bulkInsert's body,
 * operations that fail, end in part, never end or are forgotten; names, marks, request ids and URLs
 * that may get secrets. */
#include <string.h>
#include "aws_host.h"
#include "aws_server.h"
#include "gcp/call.h"
#include "gcp/credentials.h"
#include "gcp/instance.h"
#include "gcp/machine.h"
#include "gcp/marks.h"

const struct rgp_provider *raygpu_provider_v1_gcp(void);

#define TOKEN "00112233445566778899aabbccddeeff"
#define CREATE                                                                                     \
	"{'kind': 'gcp.instance', 'token': '" TOKEN "', 'min_count': 1,"                           \
	" 'marks': {'cluster': 'c', 'lineage': 'lin', 'pool': 'train', 'commit': null},"           \
	" 'items': [{'address': 'gcp.instance.train[2]', 'index': 2},"                             \
	"  {'address': 'gcp.instance.train[7]', 'index': 7}],"                                     \
	" 'attributes': {'instance_type': 'n1-standard-8+nvidia-tesla-t4:1', 'image':"             \
	"  'projects/p/global/images/i', 'zone': 'us-central1-a', 'subnetwork':"                   \
	"  'projects/p/regions/us-central1/subnetworks/default', 'user_data': 'hello',"            \
	"  'disk_size_gb': 100, 'disk_type': 'pd-ssd', 'market': 'spot', 'host_maintenance':"      \
	"  'TERMINATE', 'network_tags': ['@cluster', 'mine'], 'labels': {'team': 'ml'}}}"
#define OPERATION                                                                                  \
	"\"kind\": \"compute#operation\", \"name\": \"operation-1\", \"zone\": "                   \
	"\"https://www.googleapis.com/compute/v1/projects/my-project/zones/us-central1-a\""
#define RUNNING "{" OPERATION ", \"status\": \"RUNNING\"}"
#define DONE "{" OPERATION ", \"status\": \"DONE\"}"

typedef struct {
	AwsServer *server;
	struct rgp_call *call;
	struct rgp_inst *inst;
	const struct rgp_provider *gcp;
} Fixture;

static void set_up(Fixture *f, gconstpointer data)
{
	f->server = aws_server_new();
	f->call = aws_test_call_new();
	f->gcp = raygpu_provider_v1_gcp();
	g_autofree char *url = aws_server_url(f->server);
	g_autofree char *config = g_strdup_printf(
		"{\"region\": \"us-central1\", \"config\": {\"endpoint\": \"%s\", \"project\": "
		"\"my-project\", \"credentials\": \"key.json\"}}",
		url);
	g_autofree char *key = g_strdup_printf("{\"type\": \"authorized_user\", \"client_id\": "
					       "\"c\", \"client_secret\": \"s3cret\", "
					       "\"refresh_token\": \"r\", \"token_uri\": \"%s\"}",
		url);
	const struct rgp_args args = {.size = sizeof args, .input = {config, strlen(config)}};
	g_hash_table_insert(f->call->files, g_strdup("key.json"), g_strdup(key));
	g_assert_cmpint(f->gcp->open(&aws_test_host, f->call, &args, &f->inst), ==, RGP_OK);
	aws_server_say(f->server, 200, "{\"access_token\": \"t0ken\", \"expires_in\": 360000}");
}

static void tear_down(Fixture *f, gconstpointer data)
{
	f->gcp->close(f->inst);
	aws_test_call_free(f->call);
	aws_server_free(f->server);
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

static const json_t *item_of(Fixture *f, int index)
{
	g_autofree char *address = g_strdup_printf("gcp.instance.train[%d]", index);
	const json_t *item = aws_test_item(f->call, address);
	g_assert_nonnull(item);
	return item;
}

static void expect(Fixture *f, int index, const char *outcome, const char *class_, bool definite)
{
	const json_t *item = item_of(f, index);
	g_assert_cmpstr(text_of(item, "outcome"), ==, outcome);
	g_assert_cmpstr(text_of(item, "class"), ==, class_);
	g_assert_cmpint(json_is_true(json_object_get(item, "definite")), ==, definite);
}

static void say_list(Fixture *f, const char *lineage)
{
	g_autofree char *list = g_strdup_printf(
		"{\"kind\": \"compute#instanceList\", \"items\": [{\"id\": \"77\", \"name\": "
		"\"c-train-00112233-2\", \"status\": "
		"\"RUNNING\", \"zone\": "
		"\"https://x/compute/v1/projects/my-project/zones/us-central1-a\", \"labels\": "
		"{\"raygpu-lineage\": \"%s\", \"raygpu-cluster\": \"c\"}}]}",
		lineage);
	aws_server_say(f->server, 200, list);
}

static void say_gone(Fixture *f)
{
	aws_server_say(f->server, 404, "{\"error\": {\"errors\": [{\"reason\": \"notFound\"}]}}");
}

static void create(Fixture *f)
{
	g_assert_cmpint(aws_test_run(f->gcp->create, f->inst, f->call, CREATE), ==, RGP_OK);
}

static void test_body(Fixture *f, gconstpointer data)
{
	aws_server_say(f->server, 200, DONE);
	say_list(f, "lin");
	create(f);
	json_auto_t *body = json_loads(aws_server_form(f->server, 1), 0, NULL);
	g_assert_nonnull(body);
	static const char *const texts[][2] = {{"/count", "2"}, {"/minCount", "1"},
		{"/perInstanceProperties/c-train-00112233-2/name", "c-train-00112233-2"},
		{"/perInstanceProperties/c-train-00112233-7/name", "c-train-00112233-7"},
		{"/instanceProperties/machineType", "n1-standard-8"},
		{"/instanceProperties/guestAccelerators/0/acceleratorType", "nvidia-tesla-t4"},
		{"/instanceProperties/disks/0/initializeParams/diskType", "pd-ssd"},
		{"/instanceProperties/disks/0/initializeParams/diskSizeGb", "100"},
		{"/instanceProperties/disks/0/initializeParams/labels/raygpu-token", TOKEN},
		{"/instanceProperties/scheduling/provisioningModel", "SPOT"},
		{"/instanceProperties/scheduling/instanceTerminationAction", "DELETE"},
		{"/instanceProperties/scheduling/onHostMaintenance", "TERMINATE"},
		{"/instanceProperties/tags/items/0", "raygpu-lin"},
		{"/instanceProperties/tags/items/1", "mine"},
		{"/instanceProperties/labels/team", "ml"},
		{"/instanceProperties/labels/raygpu-kind", "gcp_instance"},
		{"/instanceProperties/metadata/items/2/key", "user-data"},
		{"/instanceProperties/metadata/items/2/value", "hello"}};
	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
		g_assert_cmpstr(json_string_value(mod_at(body, texts[i][0])), ==, texts[i][1]);
	g_assert_true(json_is_true(mod_at(body, "/instanceProperties/disks/0/autoDelete")));
	g_assert_null(mod_at(body, "/instanceProperties/networkInterfaces/0/accessConfigs"));
	g_assert_null(mod_at(body, "/instanceProperties/serviceAccounts"));
	g_assert_cmpstr(text_of(item_of(f, 2), "id"), ==, "us-central1-a/77");
}

static void test_half(Fixture *f, gconstpointer data)
{
	aws_server_say(f->server, 200, RUNNING);
	aws_server_say(f->server, 200, RUNNING);
	aws_server_say(f->server, 200, DONE);
	say_list(f, "lin");
	say_gone(f);
	create(f);
	expect(f, 2, "done", "", false);
	expect(f, 7, "failed", "capacity", true);
}

static void test_the_cause_is_behind_the_first_error(Fixture *f, gconstpointer data)
{
	aws_server_say(f->server, 200,
		"{" OPERATION
		", \"status\": \"DONE\", \"httpErrorStatusCode\": 403, \"error\": {\"errors\": ["
		"{\"code\": \"VM_MIN_COUNT_NOT_REACHED\", \"message\": \"fewer\"}, {\"code\": "
		"\"QUOTA_EXCEEDED\", \"message\": \"Quota exceeded.\", \"errorDetails\": "
		"[{\"quotaInfo\": {\"metricName\": \"compute.googleapis.com/nvidia_t4_gpus\", "
		"\"limit\": 1, \"dimensions\": {\"region\": \"us-central1\"}}}]}]}}");
	aws_server_say(f->server, 200, "{\"kind\": \"compute#instanceList\"}");
	say_gone(f);
	say_gone(f); /* both members, read by name */
	create(f);
	expect(f, 2, "failed", "quota", true);
	g_assert_cmpstr(text_of(item_of(f, 2), "message"), ==,
		"Quota exceeded.; quota compute.googleapis.com/nvidia_t4_gpus, limit 1, region "
		"us-central1");
}

/* What is not a list says nothing about what is there. */
static void test_an_answer_that_is_not_a_list(Fixture *f, gconstpointer data)
{
	static const char taken[] =
		"{\"error\": {\"code\": 409, \"message\": \"exists\", \"errors\": [{\"reason\": "
		"\"alreadyExists\"}]}}";
	aws_server_say(f->server, 409, taken);
	aws_server_say(f->server, 200, data);
	g_assert_cmpint(aws_test_run(f->gcp->create, f->inst, f->call, CREATE), ==, RGP_FAIL);
}

/* Each answer is also that of the list of instances that follows: an empty one. */
static void test_an_operation_that_never_ends(Fixture *f, gconstpointer data)
{
	for (size_t i = 0; i < 1000; i++)
		aws_server_say(f->server, 200,
			"{\"kind\": \"compute#instanceList\", \"name\": \"operation-1\", "
			"\"status\": \"RUNNING\", \"zone\": \"https://x/projects/my-project/zones/"
			"us-central1-a\"}");
	create(f);
	expect(f, 2, "failed", "unknown", false);
	g_assert_nonnull(strstr(text_of(item_of(f, 2), "message"), "operation-1"));
	g_assert_cmpuint(f->call->slept_ms, >=, 1700 * 1000);
	g_assert_cmpuint(f->call->slept_ms, <=, 1900 * 1000);
}

static void test_an_operation_that_is_forgotten(Fixture *f, gconstpointer data)
{
	aws_server_say(f->server, 200, RUNNING);
	aws_server_say(f->server, 404,
		"{\"error\": {\"code\": 404, \"message\": \"gone\", \"errors\": [{\"reason\": "
		"\"notFound\"}]}}");
	say_list(f, "lin");
	say_gone(f);
	create(f);
	expect(f, 2, "done", "", false);
	expect(f, 7, "failed", "unknown", false);
}

static void test_another_lineage_is_not_adopted(Fixture *f, gconstpointer data)
{
	static const char taken[] =
		"{\"error\": {\"code\": 409, \"message\": \"exists\", \"errors\": [{\"reason\": "
		"\"alreadyExists\"}]}}";
	aws_server_say(f->server, 409, taken);
	say_list(f, "other");
	aws_server_say(f->server, 200, "{\"id\": \"77\"}"); /* whether the list is behind */
	say_gone(f);
	say_list(f, "other"); /* who has the names */
	create(f);
	g_assert_cmpuint(aws_server_count(f->server), ==, 6);
	expect(f, 2, "failed", "conflict", true);
	expect(f, 7, "failed", "unknown", false);
}

static void test_stock_out_before_the_start_is_no_fault(Fixture *f, gconstpointer data)
{
	aws_server_say(f->server, 503,
		"{\"error\": {\"code\": 503, \"message\": \"no\", \"errors\": [{\"reason\": "
		"\"insufficientCapacity\"}]}}");
	aws_server_say(f->server, 200, "{\"kind\": \"compute#instanceList\"}");
	say_gone(f);
	say_gone(f);
	create(f);
	expect(f, 2, "failed", "capacity", true);
	g_assert_cmpuint(aws_server_count(f->server), ==, 5);
}

static void test_request_ids(void)
{
	g_autofree char *a = gcp_request_id(TOKEN, "insert"), *b = gcp_request_id(TOKEN, "insert");
	g_autofree char *c = gcp_request_id(TOKEN, "delete");
	g_assert_cmpstr(a, ==, b);
	g_assert_cmpstr(a, !=, c);
	g_assert_true(g_uuid_string_is_valid(a));
	g_assert_cmpint(a[14], ==, '4');
}

static void test_addresses(void)
{
	json_auto_t *labels = json_pack("{s:s, s:s, s:s}", "raygpu-kind", "gcp_instance",
		"raygpu-name", "train", "raygpu-token", TOKEN);
	g_auto(ModMarks) marks = {0};
	json_decref(gcp_marks_read(labels, &marks));
	static const char *const rows[][2] = {{"c-train-00112233-12", "gcp.instance.train[12]"},
		{"c-train-00112233", "gcp.instance.train"}, {"other-5", "gcp.instance.train"},
		{"c-train-00112233-x", "gcp.instance.train"}};
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autofree char *address = gcp_marks_address(&marks, "gcp.instance", rows[i][0]);
		g_assert_cmpstr(address, ==, rows[i][1]);
	}
	g_assert_null(gcp_marks_address(&marks, "gcp.address", "x"));
	marks.index = g_strdup("3");
	g_autofree char *moved = gcp_marks_address(&marks, "gcp.instance", "anything");
	g_assert_cmpstr(moved, ==, "gcp.instance.train[3]");
}

static void test_trusted_urls(void)
{
	static const struct {
		const char *url;
		bool trusted;
	} rows[] = {{"https://oauth2.googleapis.com/token", true},
		{"https://sts.googleapis.com:443/v1/token", true},
		{"http://127.0.0.1:8080/token", true}, {"http://localhost/token", true},
		{"http://oauth2.googleapis.com/token", false},
		{"https://oauth2.googleapis.com:8443/token", false},
		{"https://googleapis.com.evil.example/", false},
		{"https://evilgoogleapis.com/", false}, {"https://a@oauth2.googleapis.com/", false},
		{"https://evil.example\\.googleapis.com/", false}, {"", false}, {"token", false}};
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
		g_assert_cmpint(gcp_url_is_trusted(rows[i].url, GCP_UNIVERSE), ==, rows[i].trusted);
}

static void test_machines(void)
{
	g_autoptr(GcpSeriesTable) table = gcp_series_open();
	static const struct {
		const char *name, *series;
		bool gpus;
	} rows[] = {{"n1-standard-8+nvidia-tesla-v100:2", "n1+nvidia-tesla-v100", true},
		{"n1-standard-8", "n1", false}, {"a2-ultragpu-1g", "a2-ultragpu", true},
		{"a2-highgpu-1g", "a2", true}, {"a3-highgpu-1g", "a3-highgpu-1g", true},
		{"a3-megagpu-8g", "a3", true}, {"a4x-highgpu-4g", "a4x", true},
		{"n2d-standard-4", "n2d", false}};
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_auto(GcpMachine) machine = {0};
		GcpSeries series;
		gcp_machine_parse(rows[i].name, &machine);
		g_assert_true(gcp_series_find(table, &machine, &series));
		g_assert_cmpstr(series.series, ==, rows[i].series);
		g_assert_cmpint(gcp_machine_has_gpus(table, &machine), ==, rows[i].gpus);
	}
}

#define UPDATE                                                                                     \
	"{'kind': 'gcp.instance', 'items': [{'address': 'gcp.instance.train[2]', 'id':"            \
	"  'us-central1-a/77', 'changed': ['labels'], 'attributes': {'labels': {'team': 'b'}}}]}"
#define RECORD(team)                                                                               \
	"{\"id\": \"77\", \"name\": \"n\", \"zone\": \"zones/us-central1-a\", \"labels\": "        \
	"{\"team\": "                                                                              \
	"\"" team "\"}, \"labelFingerprint\": \"f\"}"

static void update(Fixture *f)
{
	g_assert_cmpint(aws_test_run(f->gcp->update, f->inst, f->call, UPDATE), ==, RGP_OK);
}

/* What an earlier run began has ended. */
static void say_record(Fixture *f)
{
	aws_server_say(f->server, 200, "{\"kind\": \"compute#operationList\", \"items\": []}");
	aws_server_say(f->server, 200, RECORD("a"));
}

static void test_a_change_after_another(Fixture *f, gconstpointer data)
{
	aws_server_say(f->server, 200,
		"{\"kind\": \"compute#operationList\", \"items\": [{" OPERATION
		", \"status\": \"RUNNING\", \"operationType\": "
		"\"setLabels\", \"targetId\": \"77\"}]}");
	aws_server_say(f->server, 200, RECORD("a"));
	update(f);
	expect(f, 2, "pending", "", false);
	g_assert_cmpstr(text_of(item_of(f, 2), "message"), ==,
		"setLabels, operation operation-1, has not ended");
}

static void test_a_change_that_never_ends(Fixture *f, gconstpointer data)
{
	say_record(f);
	for (size_t i = 0; i < 1000; i++)
		aws_server_say(f->server, 200, RUNNING);
	update(f);
	expect(f, 2, "failed", "unknown", false);
	g_assert_cmpstr(text_of(item_of(f, 2), "code"), ==, "OPERATION_RUNNING");
	g_assert_nonnull(strstr(text_of(item_of(f, 2), "message"), "operation-1"));
	g_assert_cmpuint(f->call->slept_ms, >=, 1700 * 1000);
	g_assert_cmpuint(f->call->slept_ms, <=, 1900 * 1000);
}

/* What the forgotten operation did is seen from the record. */
static void test_a_change_that_is_forgotten(Fixture *f, gconstpointer data)
{
	bool applied = GPOINTER_TO_INT(data);
	say_record(f);
	aws_server_say(f->server, 200, RUNNING);
	say_gone(f);
	aws_server_say(f->server, 200, applied ? RECORD("b") : RECORD("a"));
	update(f);
	expect(f, 2, applied ? "done" : "failed", applied ? "" : "unknown", false);
}

/* A schedule of starts and stops is not a placement. */
static void test_policies(void)
{
	static const struct {
		const char *policies, *placement;
	} rows[] = {{"[]", ""}, {"['x/resourcePolicies/nightly']", ""},
		{"['x/resourcePolicies/nightly', 'x/resourcePolicies/raygpu-c-train-00112233']",
			"raygpu-c-train-00112233"}};
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autofree char *text = g_strdelimit(
			g_strdup_printf("{'id': '1', 'resourcePolicies': %s}", rows[i].policies),
			"'", '"');
		json_auto_t *record = json_loads(text, 0, NULL);
		g_auto(GcpSeen) seen = {0};
		gcp_instance_read(record, NULL, &seen);
		g_assert_cmpstr(text_of(seen.attributes, "resource_policy"), ==, rows[i].placement);
	}
}

#define CASE(path, test) g_test_add("/gcp/calls/" path, Fixture, NULL, set_up, test, tear_down)

int main(int argc, char **argv)
{
	static const char *const no_lists[] = {
		"", "{}", "[]", "{\"items\": []}", "{\"kind\": \"compute#instance\"}"};
	g_test_init(&argc, &argv, NULL);
	CASE("body", test_body);
	CASE("half", test_half);
	CASE("cause", test_the_cause_is_behind_the_first_error);
	CASE("never-ends", test_an_operation_that_never_ends);
	CASE("forgotten", test_an_operation_that_is_forgotten);
	CASE("another-lineage", test_another_lineage_is_not_adopted);
	for (size_t i = 0; i < G_N_ELEMENTS(no_lists); i++) {
		g_autofree char *path = g_strdup_printf("/gcp/calls/not-a-list/%zu", i);
		g_test_add(path, Fixture, no_lists[i], set_up, test_an_answer_that_is_not_a_list,
			tear_down);
	}
	CASE("change-never-ends", test_a_change_that_never_ends);
	CASE("change-after-another", test_a_change_after_another);
	g_test_add("/gcp/calls/change-forgotten", Fixture, GINT_TO_POINTER(1), set_up,
		test_a_change_that_is_forgotten, tear_down);
	g_test_add("/gcp/calls/change-lost", Fixture, GINT_TO_POINTER(0), set_up,
		test_a_change_that_is_forgotten, tear_down);
	CASE("stock-out", test_stock_out_before_the_start_is_no_fault);
	g_test_add_func("/gcp/request-ids", test_request_ids);
	g_test_add_func("/gcp/addresses", test_addresses);
	g_test_add_func("/gcp/trusted-urls", test_trusted_urls);
	g_test_add_func("/gcp/machines", test_machines);
	g_test_add_func("/gcp/policies", test_policies);
	return g_test_run();
}
