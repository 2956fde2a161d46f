/* The XML reader with recorded, cut and hostile documents; error answers. */
#include "aws/errors.h"
#include "aws/instance.h"
#include "aws/xml.h"
#include <string.h>

static const AwsShape tag_members[] = {{"key"}, {"value"}, {0}};
static const AwsShape tag_set[] = {{"item", tag_members, AWS_PAIR}, {0}};
static const AwsShape word_set[] = {{"item"}, {0}};
static const AwsShape thing_members[] = {{"id"}, {"words", word_set}, {"tagSet", tag_set}, {0}};
static const AwsShape thing_set[] = {{"item", thing_members, AWS_RECORD}, {0}};
static const AwsShape root_members[] = {{"set", thing_set, AWS_DROP}, {"nextToken"}, {0}};
static const AwsShape root = {"R", root_members};

static void collect(void *data, const json_t *record)
{
	json_array_append_new(data, json_deep_copy(record));
}

static json_t *read_text(const char *text, json_t *records, char **problem)
{
	return aws_xml_read(mod_bytes(text), &root, collect, records, problem);
}

static void refuses(const char *text, const char *why)
{
	json_auto_t *records = json_array();
	g_autofree char *problem = NULL;
	json_auto_t *reply = read_text(text, records, &problem);
	g_assert_null(reply);
	g_assert_nonnull(problem);
	if (why && !strstr(problem, why)) {
		g_test_message("%s: not for \"%s\" but \"%s\"", text, why, problem);
		g_test_fail();
	}
}

static void test_reads_what_is_named(void)
{
	json_auto_t *records = json_array();
	g_autofree char *problem = NULL;
	json_auto_t *reply = read_text(
		"<?xml version='1.0'?><R xmlns='x'><other><id>no</id></other><set><item><id>a</id>"
		"<words><item>x</item><item/></words>"
		"<tagSet><item><key>k</key><value>&lt;v&gt; "
		"\xc3\xa9</value></item><item><value>w</value><key>e</key></item>"
		"<item><key>k</key><value>last</value></item><item><key>alone</key></item>"
		"<item><value>lost</value></item></tagSet></item><item><id/><more><id>no</id></"
		"more></item></set>"
		"<nextToken>t</nextToken></R>",
		records, &problem);
	g_assert_cmpstr(problem, ==, NULL);
	json_auto_t *expected = json_pack("[{s:s, s:[s, s], s:{s:s, s:s}}, {s:s}]", "id", "a",
		"words", "x", "", "tagSet", "k", "last", "e", "w", "id", "");
	g_assert_true(json_equal(records, expected));
	/* nothing else is kept: a page's records are never in memory together */
	json_auto_t *kept = json_pack("{s:s}", "nextToken", "t");
	g_assert_true(json_equal(reply, kept));
}

static void test_cut_anywhere(void)
{
	static const char whole[] =
		"<?xml version='1.0'?><R><set><item><id>a</id></item></set><nextToken/></R>";
	for (size_t len = 0; len < strlen(whole); len++) {
		g_autofree char *cut = g_strndup(whole, len);
		refuses(cut, NULL);
	}
}

static void test_hostile(void)
{
	GString *deep = g_string_new("<R>");
	for (int i = 0; i < 100000; i++)
		g_string_append(deep, "<a>");
	refuses(deep->str, "nested too deeply");
	g_string_assign(deep, "<R><set><item><id>");
	for (int i = 0; i < 200000; i++)
		g_string_append(deep, "0123456789");
	g_string_append(deep, "</id></item></set></R>");
	refuses(deep->str, "too long");
	g_string_free(deep, TRUE);
	refuses("<!DOCTYPE R [<!ENTITY a \"xxxxxxxxxx\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">"
		"<!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;\">]><R><nextToken>&c;</nextToken></R>",
		"document type");
	refuses("<!DOCTYPE R SYSTEM \"file:///etc/passwd\"><R/>", "document type");
	refuses("<html><body>502 Bad Gateway</body></html>", "<html> instead of <R>");
	refuses("<!DOCTYPE html><html></html>", NULL);
	refuses("<?x</value>ml?><!DOCTYPE a [<!ENTITY b \"c\"c -->>]><R/>", NULL);
	refuses("<R><nextToken>\xff\xfe</nextToken></R>", NULL);
	refuses("<Other/>", "<Other> instead of <R>");
	refuses("<R></R><R></R>", NULL);
	refuses("<R><nextToken>&nope;</nextToken></R>", NULL);
	refuses("{\"json\": true}", NULL);
	refuses("", NULL);
	g_autofree char *problem = NULL;
	g_assert_null(aws_xml_read((struct rgp_bytes){0}, &root, NULL, NULL, &problem));
	g_assert_nonnull(problem);
}

/* Many megabytes in pieces; records are dropped as they arrive. */
static void count(void *data, const json_t *record)
{
	(*(unsigned *)data)++;
}

static void test_huge(void)
{
	GString *text = g_string_new("<R><set>");
	for (int i = 0; i < 40000; i++)
		g_string_append(text, "<item><id>i-0123456789abcdef0</id><tagSet><item><key>k</key>"
				      "<value>v</value></item></tagSet><x>skipped</x></item>");
	g_string_append(text, "</set></R>");
	unsigned records = 0;
	g_autofree char *problem = NULL;
	json_auto_t *reply = aws_xml_read(mod_bytes(text->str), &root, count, &records, &problem);
	g_assert_nonnull(reply);
	g_assert_cmpuint(records, ==, 40000);
	g_string_free(text, TRUE);
}

/* Of a run of records that differ only in their own texts, each is the same object again. */
typedef struct {
	const json_t *last;
	json_t *records;
	GString *same; /* a letter a record: 's'ame or 'o'ther object */
} Run;

static void follow(void *data, const json_t *record)
{
	Run *run = data;
	g_string_append_c(run->same, record == run->last ? 's' : 'o');
	json_array_append_new(run->records, json_deep_copy(record));
	run->last = record;
}

static void test_like_the_last(void)
{
	static const AwsShape kid_members[] = {{"id", NULL, AWS_OWN}, {0}};
	static const AwsShape kid_set[] = {{"item", kid_members}, {0}};
	static const AwsShape members[] = {
		{"id", NULL, AWS_OWN}, {"type"}, {"kids", kid_set}, {"tagSet", tag_set}, {0}};
	static const AwsShape set[] = {{"item", members, AWS_RECORD}, {0}};
	static const AwsShape set_members[] = {{"set", set, AWS_DROP}, {0}};
	static const AwsShape document = {"R", set_members};
#define TAGS "<tagSet><item><key>k</key><value>v</value></item></tagSet>"
	static const char *const items[] = {
		"<item><id>1</id><type>t</type>" TAGS "</item>",
		"<item><id>22</id><type>t</type>" TAGS "</item>", /* same */
		"<item><id/><type>t</type>" TAGS "</item>",	  /* same */
		"<item><type>t</type><id>4</id>" TAGS "</item>",  /* another order */
		"<item><type>u</type><id>5</id>" TAGS "</item>",
		"<item><id>6</id><kids><item><id>a</id></item></kids></item>",
		"<item><id>7</id><kids><item><id>b</id></item></kids></item>", /* same */
		"<item><id>7b</id><kids><item><id></id></item></kids></item>", /* same */
		"<item><id>8</id><kids><item/></kids><id>9</id></item>",
		"<item><id>10</id><kids><item/></kids><id>11</id></item>", /* same */
		"<item><type>x</type></item>",
		"<item><type>x</type></item>", /* nothing of its own: no run */
	};
	static const char *const expected[] = {"{'id': '1', 'type': 't', 'tagSet': {'k': 'v'}}",
		"{'id': '22', 'type': 't', 'tagSet': {'k': 'v'}}",
		"{'id': '', 'type': 't', 'tagSet': {'k': 'v'}}",
		"{'id': '4', 'type': 't', 'tagSet': {'k': 'v'}}",
		"{'id': '5', 'type': 'u', 'tagSet': {'k': 'v'}}",
		"{'id': '6', 'kids': [{'id': 'a'}]}", "{'id': '7', 'kids': [{'id': 'b'}]}",
		"{'id': '7b', 'kids': [{'id': ''}]}", "{'id': '9', 'kids': [{}]}",
		"{'id': '11', 'kids': [{}]}", "{'type': 'x'}", "{'type': 'x'}"};
	g_autoptr(GString) text = g_string_new("<R><set>");
	for (size_t i = 0; i < G_N_ELEMENTS(items); i++)
		g_string_append(text, items[i]);
	g_string_append(text, "</set></R>");
	g_autoptr(GString) same = g_string_new(NULL);
	json_auto_t *records = json_array();
	Run run = {.records = records, .same = same};
	g_autofree char *problem = NULL;
	json_auto_t *reply = aws_xml_read(mod_bytes(text->str), &document, follow, &run, &problem);
	g_assert_nonnull(reply);
	g_assert_cmpuint(json_array_size(records), ==, G_N_ELEMENTS(expected));
	for (size_t i = 0; i < G_N_ELEMENTS(expected); i++) {
		g_autofree char *json = g_strdelimit(g_strdup(expected[i]), "'", '"');
		json_auto_t *value = json_loads(json, 0, NULL);
		g_assert_true(json_equal(json_array_get(records, i), value));
	}
	/* an address may come again when an object is new, so only runs are sure */
	g_assert_cmpint(same->str[1], ==, 's');
	g_assert_cmpint(same->str[2], ==, 's');
	g_assert_cmpint(same->str[6], ==, 's');
	g_assert_cmpint(same->str[7], ==, 's');
	g_assert_cmpint(same->str[9], ==, 's');
}

static void test_recorded(void)
{
	g_autofree char *path = g_test_build_filename(G_TEST_DIST, "replies.json", NULL);
	json_auto_t *replies = json_load_file(path, 0, NULL);
	unsigned instances = 0;
	size_t i, k;
	const json_t *reply, *record;
	json_array_foreach (replies, i, reply) {
		const AwsShape *shape = g_str_equal(mod_str(reply, "action"), "DescribeInstances")
						? &aws_describe_instances
					: g_str_equal(mod_str(reply, "action"), "RunInstances")
						? &aws_run_instances
						: NULL;
		if (!shape || mod_int(reply, "status") != 200)
			continue;
		json_auto_t *records = json_array();
		g_autofree char *problem = NULL;
		json_auto_t *read = aws_xml_read(
			mod_bytes(mod_str(reply, "body")), shape, collect, records, &problem);
		g_assert_cmpstr(problem, ==, NULL);
		g_assert_nonnull(read);
		json_array_foreach (records, k, record) {
			g_auto(AwsSeen) seen = {0};
			aws_instance_read(record, &seen);
			g_assert_true(g_str_has_prefix(seen.id, "i-"));
			g_assert_false(seen.gone);
			g_assert_cmpstr(mod_str(seen.attributes, "instance_state"), ==, "running");
			g_assert_true(g_str_has_prefix(
				mod_str(seen.attributes, "root_volume_id"), "vol-"));
			g_assert_true(g_str_has_prefix(
				mod_str(seen.attributes, "network_interface"), "eni-"));
			instances++;
		}
	}
	g_assert_cmpuint(instances, >=, 8);
}

static void test_error_answers(void)
{
	static const struct {
		int status;
		const char *body;
		int32_t class_;
		const char *code;
	} cases[] = {
		{400,
			"<Response><Errors><Error><Code>InvalidAMIID.NotFound</Code><Message>m</"
			"Message>"
			"</Error></Errors><RequestID>r-1</RequestID></Response>",
			RGP_CLASS_INVALID, "InvalidAMIID.NotFound"},
		{500,
			"<Response><Errors><Error><Code>InsufficientInstanceCapacity</"
			"Code><Message>m"
			"</Message></Error></Errors><RequestID>r-1</RequestID></Response>",
			RGP_CLASS_CAPACITY, "InsufficientInstanceCapacity"},
		{503,
			"<Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>m</"
			"Message>"
			"</Error></Errors><RequestID>r-1</RequestID></Response>",
			RGP_CLASS_THROTTLED, "RequestLimitExceeded"},
		{503,
			"<Response><Errors><Error><Code>Client.RequestLimitExceeded</"
			"Code><Message>m"
			"</Message></Error></Errors></Response>",
			RGP_CLASS_THROTTLED, "RequestLimitExceeded"},
		{403,
			"<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</"
			"Code><Message>m"
			"</Message></Error><RequestId>r-1</RequestId></ErrorResponse>",
			RGP_CLASS_DENIED, "AccessDenied"},
		{400, "<Response><Errors><Error><Code>NewCode</Code></Error></Errors></Response>",
			RGP_CLASS_INVALID, "NewCode"},
		{500, "<!doctype html><title>500 Internal Server Error</title>",
			RGP_CLASS_TRANSIENT, NULL},
		{503, "", RGP_CLASS_TRANSIENT, NULL},
		{429, "slow down", RGP_CLASS_THROTTLED, NULL},
		{403, "<html>a proxy</html>", RGP_CLASS_DENIED, NULL},
		{404, "not found", RGP_CLASS_INVALID, NULL},
		{302, "", RGP_CLASS_UNKNOWN, NULL},
	};
	ModErrors *errors = aws_errors_new();
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		ModFailure failure = {0};
		aws_errors_read(errors, cases[i].status, mod_bytes(cases[i].body), &failure);
		g_assert_cmpint(failure.class_, ==, cases[i].class_);
		g_assert_cmpstr(failure.code, ==, cases[i].code);
		g_assert_nonnull(failure.message);
		mod_failure_clear(&failure);
	}
	mod_errors_free(errors);
}

/* Codes that mean several things (error_texts.csv); the messages are EC2's. */
static void test_error_texts(void)
{
	static const struct {
		const char *code, *message;
		int class_;
		const char *attribute;
	} cases[] = {
		{"Unsupported",
			"Your requested instance type (g4dn.xlarge) is not supported in your "
			"requested Availability Zone (us-east-1a). Please retry your request by "
			"not specifying an Availability Zone or choosing us-east-1b.",
			RGP_CLASS_CAPACITY, "instance_type"},
		{"Unsupported",
			"The requested configuration is currently not supported. Please check the "
			"documentation for supported configurations.",
			RGP_CLASS_INVALID, "instance_type"},
		{"Unsupported",
			"The instance type 'g4dn.xlarge' does not support an AMI with boot mode "
			"'uefi'. Only instance types with boot mode of 'uefi' are supported.",
			RGP_CLASS_INVALID, "image_id"},
		{"OptInRequired",
			"In order to use this AWS Marketplace product you need to accept terms and "
			"subscribe. To do so please visit "
			"https://aws.amazon.com/marketplace/pp?sku=abc",
			RGP_CLASS_INVALID, "image_id"},
		{"OptInRequired", "You are not subscribed to this service.", RGP_CLASS_DENIED,
			NULL},
		{"InvalidParameterValue",
			"Value (ray) for parameter iamInstanceProfile.name is invalid. Invalid IAM "
			"Instance Profile name",
			RGP_CLASS_INVALID, "instance_profile"},
		{"InvalidParameterValue", "Invalid availability zone: [us-east-1z]",
			RGP_CLASS_INVALID, NULL},
	};
	ModErrors *errors = aws_errors_new();
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		ModFailure failure = {0};
		mod_errors_describe(errors, cases[i].code, cases[i].message, &failure);
		g_assert_cmpint(failure.class_, ==, cases[i].class_);
		g_assert_cmpstr(failure.attribute, ==, cases[i].attribute);
		mod_failure_clear(&failure);
	}
	mod_errors_free(errors);
}

static void test_error_table(void)
{
	g_autofree char *path = g_test_build_filename(G_TEST_DIST, "..", "errors.csv", NULL);
	g_autofree char *text = NULL;
	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	g_auto(GStrv) lines = g_strsplit(g_strchomp(text), "\n", -1);
	g_assert_cmpstr(lines[0], ==, "code,class,attribute,hint");
	ModErrors *errors = aws_errors_new();
	for (char **line = lines + 1; *line; line++) {
		g_auto(GStrv) fields = g_strsplit(*line, ",", -1);
		g_assert_cmpuint(g_strv_length(fields), ==, 4);
		g_assert_null(strchr(*line, '"'));
		const ModErrorRow *row = mod_errors_find(errors, fields[0]);
		g_assert_nonnull(row);
		g_assert_cmpint(row->class_, !=, RGP_CLASS_UNKNOWN);
		g_assert_cmpstr(mod_class_name(row->class_), ==, fields[1]);
		g_assert_cmpstr(row->hint ? row->hint : "", ==, fields[3]);
	}
	mod_errors_free(errors);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/aws/xml/reads-what-the-shape-names", test_reads_what_is_named);
	g_test_add_func("/aws/xml/a-cut-document-is-never-a-short-one", test_cut_anywhere);
	g_test_add_func("/aws/xml/refuses-hostile-documents", test_hostile);
	g_test_add_func("/aws/xml/reads-large-documents-in-pieces", test_huge);
	g_test_add_func("/aws/xml/a-record-like-the-last-is-the-same-object", test_like_the_last);
	g_test_add_func("/aws/xml/reads-recorded-instances", test_recorded);
	g_test_add_func("/aws/errors/class-by-code-then-by-status", test_error_answers);
	g_test_add_func("/aws/errors/every-row-of-the-table-is-sound", test_error_table);
	g_test_add_func("/aws/errors/every-row-of-the-table-is-sound_texts", test_error_texts);
	return g_test_run();
}
