/* health: machines whose status checks fail or for which EC2 has scheduled an event. Filters select
 * them in the whole account, because DescribeInstanceStatus has no filter by tag and takes at most
 * 100 ids (EC2 API reference): three requests, usually one page each, for any number of machines.
 */
#include "aws/form.h"
#include "aws/kinds.h"

static const AwsShape event_members[] = {{"code"}, {"description"}, {"notBefore"}, {0}};
static const AwsShape event_set[] = {{"item", event_members}, {0}};
static const AwsShape summary_members[] = {{"status"}, {0}};
static const AwsShape status_members[] = {{"instanceId"}, {"eventsSet", event_set},
	{"instanceStatus", summary_members}, {"systemStatus", summary_members}, {0}};
static const AwsShape status_set[] = {{"item", status_members, AWS_RECORD}, {0}};
static const AwsShape describe_members[] = {
	{"instanceStatusSet", status_set, AWS_DROP}, {"nextToken"}, {0}};
static const AwsShape describe_status = {"DescribeInstanceStatusResponse", describe_members};

static const char *const impaired[] = {"impaired"};
static const char *const events[] = {"instance-reboot", "system-reboot", "system-maintenance",
	"instance-retirement", "instance-stop"};
static const struct {
	const char *filter;
	const char *const *values;
	size_t n;
} questions[] = {
	{"system-status.status", impaired, G_N_ELEMENTS(impaired)},
	{"instance-status.status", impaired, G_N_ELEMENTS(impaired)},
	{"event.code", events, G_N_ELEMENTS(events)},
};
#define QUESTIONS G_N_ELEMENTS(questions)

static bool fails(const json_t *record, const char *check)
{
	return g_str_equal(mod_str(json_object_get(record, check), "status"), "impaired");
}

static void add(GString *text, const char *what)
{
	g_string_append_printf(text, "%s%s", text->len ? "; " : "", what);
}

/* For a week EC2 still shows events that are over: EC2 user guide, "Scheduled events". */
static bool is_over(const char *description)
{
	return g_str_has_prefix(description, "[Completed]") ||
	       g_str_has_prefix(description, "[Canceled]");
}

static void add_events(GString *text, const json_t *record)
{
	mod_foreach (event, json_object_get(record, "eventsSet")) {
		const char *description = mod_str(event, "description");
		if (is_over(description))
			continue;
		g_autofree char *what = g_strdup_printf("is scheduled for %s at %s: %s",
			mod_str(event, "code"), mod_str(event, "notBefore"), description);
		add(text, what);
	}
}

/* What the records say, by id: an instance may be in the answer to each question. */
static void take_record(void *data, const json_t *record)
{
	g_autoptr(GString) text = g_string_new(NULL);
	if (fails(record, "systemStatus"))
		add(text, "fails the system status check: the host or its network does not work");
	if (fails(record, "instanceStatus"))
		add(text, "fails the instance status check: it cannot be reached");
	add_events(text, record);
	if (text->len)
		g_hash_table_replace(
			data, g_strdup(mod_str(record, "instanceId")), g_strdup(text->str));
}

static rgp_status ask_all(const AwsCall *call, GHashTable *unwell)
{
	Ec2Pages pages[QUESTIONS], *all[QUESTIONS];
	for (size_t i = 0; i < QUESTIONS; i++) {
		pages[i] = (Ec2Pages){.request = {.action = "DescribeInstanceStatus",
					      .shape = &describe_status,
					      .record = take_record,
					      .data = unwell,
					      .reading = true},
			.params = json_pack("{s:i}", "MaxResults", 1000)};
		aws_form_filter(
			pages[i].params, questions[i].filter, questions[i].values, questions[i].n);
		all[i] = &pages[i];
	}
	rgp_status status = ec2_pages_all(call, all, QUESTIONS);
	for (size_t i = 0; i < QUESTIONS; i++)
		json_decref(pages[i].params);
	return status;
}

rgp_status aws_health(const AwsCall *call, const ModKind *any, const json_t *input)
{
	const AwsKind *kind = aws_kind(any);
	g_autoptr(GHashTable) unwell =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	if (!kind->has_console)
		return RGP_UNSUPPORTED;
	rgp_status status = ask_all(call, unwell);
	mod_foreach (item, json_object_get(input, "items")) {
		const char *text = g_hash_table_lookup(unwell, mod_str(item, "id"));
		if (status == RGP_OK && text)
			status = mod_give(&call->talk, "item",
				json_pack("{s:s, s:s, s:s}", "address", mod_str(item, "address"),
					"outcome", "done", "text", text));
	}
	return status;
}
