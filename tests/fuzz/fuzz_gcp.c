/* Answers of Compute Engine to a call of the module. The first byte selects the call; each line
 * after it is an answer, "STATUS JSON", in the order of the requests (without more lines, none
 * arrives). The call ends; what it gives to the host is JSON; a list that fails says why. Records
 * that are alike are read as they are one by one. */
#include <stdlib.h>
#include <string.h>
#include "fuzz.h"
#include "gcp/call.h"
#include "gcp/instance.h"

const struct rgp_provider *raygpu_provider_v1_gcp(void);

struct rgp_call {
	char **next; /* answer */
	unsigned diags;
	int64_t slept_ms;
};

#define BASE "http://127.0.0.1:1/"
#define KEY                                                                                        \
	"{\"type\": \"authorized_user\", \"client_id\": \"c\", \"client_secret\": \"s\", "         \
	"\"refresh_token\": \"r\", \"token_uri\": \"" BASE "token\"}"
#define CONFIG                                                                                     \
	"{\"region\": \"us-central1\", \"config\": {\"endpoint\": \"" BASE                         \
	"\", \"project\": \"my-project\", \"credentials\": \"key.json\"}}"
#define TOKEN "{\"access_token\": \"t\", \"expires_in\": 360000000}"

/* ---- the host */

static rgp_status host_http(
	struct rgp_call *call, const struct rgp_http_req *req, struct rgp_http_resp *resp)
{
	const char *line = TOKEN;
	int32_t status = 200;
	if (!g_str_has_suffix(req->url, "/token")) {
		if (!*call->next)
			return RGP_FAIL;
		line = *call->next++;
		char *end = NULL;
		long number = strtol(line, &end, 10);
		status = number >= 100 && number <= 599 ? (int32_t)number : 200;
		line = end;
	}
	const struct rgp_bytes body = {line, strlen(line)};
	if (req->classify)
		req->classify(req->classify_data, status, body);
	*resp = (struct rgp_http_resp){.size = sizeof *resp,
		.status = status,
		.body = body,
		.headers = {"{}", 2},
		.tries = 1};
	return RGP_OK;
}

static rgp_status host_http_all(struct rgp_call *call, const struct rgp_http_req *const *reqs,
	size_t n, struct rgp_http_resp *const *resps)
{
	rgp_status all = RGP_OK;
	for (size_t i = 0; i < n; i++) {
		rgp_status status = host_http(call, reqs[i], resps[i]);
		all = all == RGP_OK ? status : all;
	}
	return all;
}

static void host_diag(struct rgp_call *call, const struct rgp_diag *diag)
{
	g_assert_true(*diag->summary && g_utf8_validate(diag->summary, -1, NULL));
	g_assert_cmpint(diag->class_, !=, RGP_CLASS_OK);
	call->diags++;
}

static rgp_status host_result(struct rgp_call *call, const char *slot, struct rgp_bytes text)
{
	json_auto_t *value = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES, NULL);
	g_assert_nonnull(value);
	return RGP_OK;
}

static void host_log(struct rgp_call *call, int32_t level, const char *message)
{
	g_assert_nonnull(message);
}

static int32_t host_canceled(struct rgp_call *call)
{
	return 0;
}

static rgp_status host_sleep(struct rgp_call *call, uint32_t ms)
{
	call->slept_ms += ms;
	return RGP_OK;
}

static const char *host_env(struct rgp_call *call, const char *name)
{
	return NULL;
}

static rgp_status host_read_file(struct rgp_call *call, const char *path, struct rgp_bytes *content)
{
	*content = (struct rgp_bytes){KEY, strlen(KEY)};
	return g_str_equal(path, "key.json") ? RGP_OK : RGP_FAIL;
}

static void host_secret(struct rgp_call *call, struct rgp_bytes secret)
{
}

static int64_t host_now(struct rgp_call *call)
{
	return 1770000000 + call->slept_ms / 1000;
}

static const struct rgp_host host = {
	.size = sizeof host,
	.abi_major = RGP_ABI_MAJOR,
	.abi_minor = RGP_ABI_MINOR,
	.http = host_http,
	.diag = host_diag,
	.result = host_result,
	.log = host_log,
	.canceled = host_canceled,
	.sleep_ms = host_sleep,
	.env = host_env,
	.read_file = host_read_file,
	.secret = host_secret,
	.now = host_now,
	.http_all = host_http_all,
};

/* ---- records */

/* As a list does: a record like the previous one is read in part. */
static void read_records(const json_t *first, const json_t *second)
{
	g_auto(GcpSeen) whole = {0}, part = {0};
	gcp_instance_read(first, NULL, &part);
	gcp_instance_read(second, NULL, &whole);
	if (gcp_instance_is_like(second, first)) {
		gcp_instance_read_own(second, &part);
		g_assert_true(json_equal(whole.attributes, part.attributes));
		g_assert_cmpstr(whole.id, ==, part.id);
		g_assert_cmpstr(whole.name, ==, part.name);
		g_assert_cmpstr(whole.status, ==, part.status);
	}
	ModFailure failure = {0};
	gcp_instance_readiness(second, &failure);
	g_assert_true((failure.class_ == RGP_CLASS_OK) == (!failure.message));
	mod_failure_clear(&failure);
}

static void read_operation(const GcpCall *call, const json_t *operation)
{
	ModFailure failure = {0};
	gcp_operation_read(call, operation, &failure);
	bool failed =
		json_object_get(operation, "error") || mod_int(operation, "httpErrorStatusCode");
	g_assert_true(failed == (failure.class_ != RGP_CLASS_OK));
	mod_failure_clear(&failure);
}

static void read_lines(const GcpCall *call, char **lines)
{
	json_auto_t *last = json_object();
	for (; *lines; lines++) {
		json_auto_t *record = json_loads(*lines + strspn(*lines, "0123456789 "), 0, NULL);
		if (!json_is_object(record))
			continue;
		read_records(last, record);
		read_records(record, record);
		read_operation(call, record);
		json_decref(last);
		last = json_incref(record);
	}
}

/* ---- the calls */

#define MARKS "\"marks\": {\"cluster\": \"c\", \"lineage\": \"lin\", \"pool\": \"w\"}, "
#define TO_CREATE(kind) "{\"kind\": \"" kind "\", \"token\": \"00112233445566778899\", " MARKS
#define NODES                                                                                      \
	"\"items\": [{\"address\": \"gcp.instance.w[0]\", \"index\": 0}, {\"address\": "           \
	"\"gcp.instance.w[1]\", \"index\": 1}], \"attributes\": {\"instance_type\": "              \
	"\"e2-medium\", \"zone\": \"us-central1-a\", \"labels\": {}}}"
#define NODE                                                                                       \
	"{\"kind\": \"gcp.instance\", \"items\": [{\"address\": \"gcp.instance.w[0]\", "           \
	"\"id\": \"us-central1-a/1\", \"changed\": [\"labels\", \"network_tags\", "                \
	"\"public_ip\", \"instance_state\", \"metadata_fingerprint\"], \"attributes\": "           \
	"{\"labels\": {}, \"public_ip\": true, \"network_tags\": []}, \"recorded\": {}}]}"
#define RULE                                                                                       \
	"{\"kind\": \"gcp.firewall\", \"items\": [{\"address\": \"gcp.firewall.nodes\", "          \
	"\"id\": \"raygpu-c\", \"changed\": [\"priority\"], \"attributes\": {\"priority\": 7, "    \
	"\"protocols\": [\"all\"]}}]}"

static rgp_status run(struct rgp_call *call, struct rgp_inst *inst, unsigned which)
{
	const struct rgp_provider *gcp = raygpu_provider_v1_gcp();
	const struct {
		rgp_fn fn;
		const char *input;
	} calls[] = {
		{gcp->list, "{\"kinds\": [\"gcp.instance\"], \"cluster\": \"c\", \"lineage\": "
			    "\"lin\", \"known\": {\"gcp.instance\": [\"us-central1-a/1\"]}}"},
		{gcp->list,
			"{\"kinds\": [\"gcp.firewall\", \"gcp.address\", \"gcp.resource_policy\"], "
			"\"cluster\": \"c\", \"lineage\": \"lin\", \"known\": {}}"},
		{gcp->find, "{\"kind\": \"gcp.instance\", \"token\": \"00112233\"}"},
		{gcp->ready, NODE},
		{gcp->update, NODE},
		{gcp->update, RULE},
		{gcp->remove, NODE},
		{gcp->remove, RULE},
		{gcp->create, TO_CREATE("gcp.instance") NODES},
		{gcp->create,
			TO_CREATE("gcp.address") "\"items\": [{\"address\": \"gcp.address.head\"}],"
						 " \"attributes\": {\"subnetwork\": \"s\"}}"},
		{gcp->resolve, "{\"instance_types\": [\"n1-standard-8+nvidia-tesla-t4:1\"], "
			       "\"images\": [{\"key\": \"k\", \"name\": null}], \"place\": true}"},
		{gcp->reveal, NODE},
		{gcp->console, NODE},
	};
	const char *input = calls[which % G_N_ELEMENTS(calls)].input;
	const struct rgp_args args = {.size = sizeof args, .input = {input, strlen(input)}};
	rgp_status status = calls[which % G_N_ELEMENTS(calls)].fn(inst, &host, call, &args);
	bool all_came = *call->next != NULL;
	if (status == RGP_FAIL && all_came)
		g_assert_cmpuint(call->diags, >, 0);
	return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rgp_inst *inst; /* opened once, lives as long as the process */
	if (!size)
		return 0;
	g_autofree char *text = g_strndup((const char *)data + 1, size - 1);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	struct rgp_call call = {.next = lines};
	const struct rgp_args args = {.size = sizeof args, .input = {CONFIG, strlen(CONFIG)}};
	if (!inst)
		g_assert_cmpint(
			raygpu_provider_v1_gcp()->open(&host, &call, &args, &inst), ==, RGP_OK);
	const GcpCall gcp = {{&host, &call}, inst};
	read_lines(&gcp, lines);
	run(&call, inst, data[0]);
	return 0;
}
