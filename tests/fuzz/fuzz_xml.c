/* An answer of EC2 through the shapes of the module: records of instances, and errors. */
#include "aws/errors.h"
#include "aws/instance.h"
#include "aws/xml.h"
#include "fuzz.h"

typedef struct {
	json_t *record;
	AwsSeen seen;
} Last;

static void clear_last(Last *last)
{
	json_decref(last->record);
	aws_seen_clear(&last->seen);
}

/* As a list does: what a record like the last one has of its own gives the same as all of it. */
static void look(void *data, const json_t *record)
{
	Last *last = data;
	g_auto(AwsSeen) seen = {0};
	aws_instance_read(record, &seen);
	if (record == last->record) {
		aws_instance_read_own(record, &last->seen);
		g_assert_true(json_equal(seen.attributes, last->seen.attributes));
		g_assert_cmpstr(seen.id, ==, last->seen.id);
		g_assert_true(seen.gone == last->seen.gone && seen.place == last->seen.place);
		return;
	}
	clear_last(last);
	*last = (Last){.record = json_incref(mod_unconst(record))};
	aws_instance_read(record, &last->seen);
}

static void read_as(const AwsShape *shape, struct rgp_bytes body)
{
	Last last = {0};
	g_autofree char *problem = NULL;
	json_auto_t *kept = aws_xml_read(body, shape, look, &last, &problem);
	g_assert_true((kept != NULL) != (problem != NULL));
	clear_last(&last);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static ModErrors *errors; /* read once, lives as long as the process */
	struct rgp_bytes body = {(const char *)data, size};
	if (!errors)
		errors = aws_errors_new();
	read_as(&aws_describe_instances, body);
	read_as(&aws_run_instances, body);
	ModFailure failure = {0};
	aws_errors_read(errors, 400 + (int32_t)(size % 104), body, &failure);
	g_assert_cmpint(failure.class_, !=, RGP_CLASS_OK);
	g_assert_nonnull(failure.message);
	mod_failure_clear(&failure);
	return 0;
}
