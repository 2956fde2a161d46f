#include "aws/preflight.h"
#include "aws/kinds.h"
#include <stdarg.h>

#define PAGES_MAX 1000

/* ---- questions */

static void collect(void *data, const json_t *record)
{
	json_array_append_new(data, json_deep_copy(record));
}

AwsProbe *aws_probe(AwsPreflight *preflight, const char *action, const AwsShape *shape,
	json_t *params, const char *what)
{
	AwsProbe *probe = g_new0(AwsProbe, 1);
	probe->records = json_array();
	probe->params = params;
	probe->what = what;
	probe->request = (Ec2Request){.action = action,
		.shape = shape,
		.record = collect,
		.data = probe->records,
		.params = params,
		.reading = true};
	g_ptr_array_add(preflight->probes, probe);
	return probe;
}

static void probe_free(gpointer data)
{
	AwsProbe *probe = data;
	json_decref(probe->params);
	json_decref(probe->records);
	ec2_reply_clear(&probe->reply);
	g_free(probe);
}

bool aws_probe_ok(const AwsProbe *probe)
{
	return probe && probe->done && probe->reply.failure.class_ == RGP_CLASS_OK;
}

const json_t *aws_probe_record(const AwsProbe *probe, const char *key, const char *value)
{
	size_t i;
	const json_t *record;
	if (!probe)
		return NULL;
	json_array_foreach (probe->records, i, record)
		if (g_str_equal(mod_str(record, key), value))
			return record;
	return NULL;
}

static void turn_page(AwsProbe *probe, Ec2Reply *reply)
{
	const char *token = mod_str(reply->reply, "nextToken");
	ec2_reply_clear(&probe->reply);
	probe->reply = *reply;
	*reply = (Ec2Reply){0};
	probe->done = probe->reply.failure.class_ != RGP_CLASS_OK || !*token;
	if (!probe->done)
		json_object_set_new(probe->params, "NextToken", json_string(token));
}

/* One page of each that has more. */
static rgp_status send_round(const AwsPreflight *preflight, bool *more)
{
	Ec2Request requests[EC2_TOGETHER_MAX];
	Ec2Reply replies[EC2_TOGETHER_MAX] = {{0}};
	AwsProbe *open[EC2_TOGETHER_MAX];
	size_t n = 0;
	for (guint i = 0; i < preflight->probes->len && n < EC2_TOGETHER_MAX; i++) {
		AwsProbe *probe = preflight->probes->pdata[i];
		if (probe->done)
			continue;
		open[n] = probe;
		requests[n++] = probe->request;
	}
	*more = n > 0;
	rgp_status status = n ? ec2_send_all(preflight->call, requests, n, replies) : RGP_OK;
	bool answered = false;
	for (size_t i = 0; i < n; i++) {
		answered |= replies[i].reply || replies[i].failure.code;
		turn_page(open[i], &replies[i]);
	}
	/* one service that can't be reached leaves the others */
	return status == RGP_FAIL && answered ? RGP_OK : status;
}

static rgp_status send_all(const AwsPreflight *preflight)
{
	rgp_status status = RGP_OK;
	bool more = true;
	for (unsigned i = 0; i < PAGES_MAX && more && status == RGP_OK; i++)
		status = send_round(preflight, &more);
	return status;
}

/* ---- what was found */

void aws_find_out(AwsPreflight *preflight, const AwsFinding *finding, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *message = g_strdup_vprintf(format, args);
	va_end(args);
	json_t *value = json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:s*, s:s*, s:s*}", "severity",
		finding->severity, "class", mod_class_name(finding->class_), "message", message,
		"attribute", finding->attribute, "detail", finding->detail, "hint", finding->hint,
		"code", finding->code, "origin", finding->origin);
	if (finding->limit)
		json_object_set(value, "limit", finding->limit);
	const json_t *addresses = json_object_get(finding->create, "addresses");
	if (json_array_size(addresses))
		json_object_set(value, "address", json_array_get(addresses, 0));
	preflight->errors += g_str_equal(finding->severity, "error");
	rgp_status status = mod_give(&preflight->call->talk, "finding", value);
	if (status != RGP_OK)
		preflight->status = status;
}

const char *aws_attribute_of(const json_t *create, const char *name)
{
	return mod_str(json_object_get(create, "attributes"), name);
}

const char *aws_pool_of(const json_t *create)
{
	const char *group = mod_str(create, "group");
	return *group ? group : "head";
}

json_int_t aws_count_of(const json_t *create)
{
	return mod_int(create, "count");
}

static void note_unchecked(AwsPreflight *preflight)
{
	for (guint i = 0; i < preflight->probes->len; i++) {
		const AwsProbe *probe = preflight->probes->pdata[i];
		const ModFailure *failure = &probe->reply.failure;
		if (!probe->what || aws_probe_ok(probe))
			continue;
		g_ptr_array_add(preflight->unchecked,
			g_strdup_printf("%s: %s: %s", probe->what, probe->request.action,
				failure->message && *failure->message ? failure->message
								      : failure->code));
	}
	if (!preflight->unchecked->len)
		return;
	g_ptr_array_add(preflight->unchecked, NULL);
	g_autofree char *detail = g_strjoinv("\n", (char **)preflight->unchecked->pdata);
	const AwsFinding finding = {.severity = "note",
		.class_ = RGP_CLASS_DENIED,
		.detail = detail,
		.hint = "allow these calls to the caller (see the policy in "
			"providers/aws/README.md), or accept that `apply` finds out"};
	aws_find_out(preflight, &finding, "not everything could be checked beforehand");
}

static void collect_nodes(AwsPreflight *preflight)
{
	size_t i;
	const json_t *create;
	json_array_foreach (preflight->creates, i, create)
		if (g_str_equal(mod_str(create, "kind"), AWS_INSTANCE))
			g_ptr_array_add(preflight->nodes, mod_unconst(create));
}

rgp_status aws_preflight(const AwsCall *call, const json_t *input)
{
	g_autoptr(GPtrArray) nodes = g_ptr_array_new();
	g_autoptr(GPtrArray) probes = g_ptr_array_new_with_free_func(probe_free);
	g_autoptr(GPtrArray) dry_runs = g_ptr_array_new();
	g_autoptr(GPtrArray) unchecked = g_ptr_array_new_with_free_func(g_free);
	AwsPreflight preflight = {.call = call,
		.applies = json_is_true(json_object_get(input, "applies")),
		.cluster = mod_str(input, "cluster"),
		.image = mod_str(input, "container_image"),
		.creates = json_object_get(input, "creates"),
		.nodes = nodes,
		.probes = probes,
		.dry_runs = dry_runs,
		.unchecked = unchecked};
	collect_nodes(&preflight);
	if (!nodes->len) /* what else is made has neither quota nor place */
		return RGP_OK;
	aws_ask_quotas(&preflight);
	aws_ask_places(&preflight);
	aws_ask_ways(&preflight);
	aws_ask_rights(&preflight);
	rgp_status status = send_all(&preflight);
	aws_ask_pull(&preflight);
	if (status == RGP_OK)
		status = send_all(&preflight);
	if (status != RGP_OK)
		return status;
	aws_check_places(&preflight);
	aws_check_quotas(&preflight);
	aws_check_ways(&preflight);
	aws_check_rights(&preflight);
	aws_check_pull(&preflight);
	note_unchecked(&preflight);
	return preflight.status;
}
