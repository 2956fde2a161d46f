/* vCPU quotas (Service Quotas) against what runs in the account and what the plan adds. */
#include "aws/data.h"
#include "aws/form.h"
#include "aws/preflight.h"
#include <string.h>

#define UNREACHABLE_MS 10000 /* a firewall may hide the service */
#define TRIES 2

/* A row of quotas.csv. */
typedef struct {
	char **fields; /* code, market, families, name */
	AwsProbe *limit;
	ModSum sum; /* vCPUs that the plan adds */
} Quota;

static const AwsShape cpu_members[] = {{"coreCount"}, {"threadsPerCore"}, {0}};
static const AwsShape instance_members[] = {
	{"instanceType"}, {"instanceLifecycle"}, {"cpuOptions", cpu_members}, {0}};
static const AwsShape instance_set[] = {{"item", instance_members, AWS_RECORD}, {0}};
static const AwsShape reservation_members[] = {{"instancesSet", instance_set, AWS_DROP}, {0}};
static const AwsShape reservation_set[] = {{"item", reservation_members, AWS_DROP}, {0}};
static const AwsShape describe_members[] = {
	{"reservationSet", reservation_set, AWS_DROP}, {"nextToken"}, {0}};
static const AwsShape describe_instances = {"DescribeInstancesResponse", describe_members};

/* "p5" or "p" of p5en.48xlarge, as the row's families are written. */
static bool is_family(const char *family, const char *type)
{
	size_t letters = strcspn(type, "0123456789.-"), length = strlen(family);
	bool by_generation = strpbrk(family, "0123456789") != NULL;
	size_t generation = letters + strspn(type + letters, "0123456789");
	return length == (by_generation ? generation : letters) && !strncmp(family, type, length);
}

static bool is_row_of(char *const *fields, const char *type, const char *market)
{
	g_auto(GStrv) families = g_strsplit(fields[2], " ", -1);
	bool known = false;
	for (char **family = families; *family && !known; family++)
		known = is_family(*family, type);
	return known && g_str_equal(fields[1], market);
}

static void quota_free(gpointer data)
{
	Quota *quota = data;
	g_strfreev(quota->fields);
	mod_sum_clear(&quota->sum);
	g_free(quota);
}

static const char *market_of(const json_t *create)
{
	const char *market = aws_attribute_of(create, "market");
	return *market ? market : "on-demand";
}

/* The quotas that the plan's nodes come under. */
static GPtrArray *quotas_of(const AwsPreflight *preflight)
{
	GPtrArray *quotas = g_ptr_array_new_with_free_func(quota_free);
	g_autoptr(GPtrArray) rows = mod_rows(aws_data_find("quotas.csv")->data, 4, 4);
	mod_ptr_foreach (ModField, fields, rows) {
		bool used = false;
		for (guint i = 0; i < preflight->nodes->len && !used; i++) {
			const json_t *create = preflight->nodes->pdata[i];
			used = is_row_of(fields, aws_attribute_of(create, "instance_type"),
				market_of(create));
		}
		if (!used)
			continue;
		Quota *quota = g_new0(Quota, 1);
		quota->fields = g_strdupv(fields);
		g_ptr_array_add(quotas, quota);
	}
	return quotas;
}

/* Of all families of the quotas, in the whole account. */
static json_t *running_params(const GPtrArray *quotas)
{
	static const char *const states[] = {"pending", "running"};
	g_autoptr(GPtrArray) patterns = g_ptr_array_new_with_free_func(g_free);
	mod_ptr_foreach (const Quota, quota, quotas) {
		g_auto(GStrv) families = g_strsplit(quota->fields[2], " ", -1);
		for (char **family = families; *family; family++)
			g_ptr_array_add(patterns, g_strconcat(*family, "*", NULL));
	}
	json_t *params = json_pack("{s:i}", "MaxResults", 1000);
	aws_form_filter(params, "instance-state-name", states, G_N_ELEMENTS(states));
	aws_form_filter(
		params, "instance-type", (const char *const *)patterns->pdata, patterns->len);
	return params;
}

void aws_ask_quotas(AwsPreflight *preflight)
{
	preflight->quotas = quotas_of(preflight);
	preflight->quotas_api = (AwsApi){.service = "servicequotas",
		.endpoint = preflight->call->inst->quotas_endpoint,
		.target = "ServiceQuotasV20190624",
		.timeout_ms = UNREACHABLE_MS,
		.tries = TRIES};
	mod_ptr_foreach (Quota, quota, preflight->quotas) {
		quota->limit = aws_probe(preflight, "GetServiceQuota", NULL,
			json_pack(
				"{s:s, s:s}", "ServiceCode", "ec2", "QuotaCode", quota->fields[0]),
			"vCPU quotas");
		quota->limit->request.api = &preflight->quotas_api;
	}
	if (preflight->quotas->len)
		preflight->running = aws_probe(preflight, "DescribeInstances", &describe_instances,
			running_params(preflight->quotas), "running vCPUs");
}

static int64_t vcpus_of_type(const AwsPreflight *preflight, const char *type)
{
	const json_t *record = aws_probe_record(preflight->types, "instanceType", type);
	return aws_xml_number(json_object_get(record, "vCpuInfo"), "defaultVCpus");
}

/* What runs under the quota. Nodes of capacity blocks count towards none: the table has no row for
 * their lifecycle. */
static int64_t running_vcpus(const AwsPreflight *preflight, const Quota *quota)
{
	int64_t sum = 0;
	mod_foreach (record, preflight->running->records) {
		const char *type = mod_str(record, "instanceType");
		const char *lifecycle = mod_str(record, "instanceLifecycle");
		const json_t *cpu = json_object_get(record, "cpuOptions");
		if (!is_row_of(quota->fields, type, *lifecycle ? lifecycle : "on-demand"))
			continue;
		int64_t vcpus =
			aws_xml_number(cpu, "coreCount") * aws_xml_number(cpu, "threadsPerCore");
		sum += vcpus ? vcpus : vcpus_of_type(preflight, type);
	}
	return sum;
}

/* A replaced node gives back what the new one takes; a reservation counts since it was created,
 * whether its instances run or not (EC2 user guide, "On-Demand Capacity Reservations"). */
static void add_up(const AwsPreflight *preflight, Quota *quota)
{
	mod_ptr_foreach (const json_t, create, preflight->nodes) {
		const char *type = aws_attribute_of(create, "instance_type");
		if (json_is_true(json_object_get(create, "replaces")) ||
			*aws_attribute_of(create, "capacity_reservation") ||
			!is_row_of(quota->fields, type, market_of(create)))
			continue;
		json_int_t count = mod_int(create, "count");
		int64_t vcpus = vcpus_of_type(preflight, type) * count;
		mod_sum_add(&quota->sum, create, vcpus, "\n",
			"%s: %" JSON_INTEGER_FORMAT " x %s = %" G_GINT64_FORMAT " vCPUs",
			mod_pool_of(create), count, type, vcpus);
	}
}

/* For the types of pools that have others to choose from: "^(p5[^0-9]|g[0-9])". */
static json_t *limit_of(const Quota *quota, int64_t free)
{
	g_auto(GStrv) families = g_strsplit(quota->fields[2], " ", -1);
	g_autoptr(GString) types = g_string_new("^(");
	for (char **family = families; *family; family++)
		g_string_append_printf(types, "%s%s%s", family == families ? "" : "|", *family,
			strpbrk(*family, "0123456789") ? "[^0-9]" : "[0-9]");
	g_string_append_c(types, ')');
	return json_pack("{s:s, s:s, s:I, s:I}", "market", quota->fields[1], "types", types->str,
		"free", (json_int_t)MAX(free, 0), "wanted", quota->sum.wanted);
}

static void check_quota(AwsPreflight *preflight, Quota *quota)
{
	const json_t *value =
		json_object_get(json_object_get(quota->limit->reply.reply, "Quota"), "Value");
	if (!aws_probe_ok(quota->limit) || !json_is_number(value))
		return;
	json_int_t limit = (json_int_t)json_number_value(value);
	json_int_t used = running_vcpus(preflight, quota);
	add_up(preflight, quota);
	if (!quota->sum.wanted || used + quota->sum.wanted <= limit)
		return;
	g_autofree char *hint = g_strdup_printf(
		"request more: `aws service-quotas request-service-quota-increase --service-code "
		"ec2 --region %s --quota-code %s --desired-value %" JSON_INTEGER_FORMAT
		"`, or use fewer nodes",
		preflight->call->inst->region, quota->fields[0], used + quota->sum.wanted);
	json_auto_t *shared = limit_of(quota, limit - used);
	const ModFinding finding = {.severity = "error",
		.class_ = RGP_CLASS_QUOTA,
		.limit = shared,
		.create = quota->sum.create,
		.attribute = "instance_type",
		.detail = quota->sum.parts->str,
		.hint = hint,
		.code = quota->fields[0]};
	mod_find_out(&preflight->findings, &finding,
		"the plan adds %" JSON_INTEGER_FORMAT
		" vCPUs, but of the quota \"%s\" of %" JSON_INTEGER_FORMAT
		" only %" JSON_INTEGER_FORMAT " are free in %s",
		quota->sum.wanted, quota->fields[3], limit, MAX(limit - used, 0),
		preflight->call->inst->region);
}

void aws_check_quotas(AwsPreflight *preflight)
{
	bool counted = aws_probe_ok(preflight->running) && aws_probe_ok(preflight->types);
	for (guint i = 0; i < preflight->quotas->len && counted; i++)
		check_quota(preflight, preflight->quotas->pdata[i]);
	g_ptr_array_unref(preflight->quotas);
}
