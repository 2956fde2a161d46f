/* An answer of EC2 through the shapes of the module: records of instances, and errors. */
#include "aws/errors.h"
#include "aws/instance.h"
#include "aws/xml.h"
#include "fuzz.h"

static void look(void *data, const json_t *record)
{
	unsigned *count = data;
	(*count)++;
	aws_instance_is_gone(record);
}

static void read_as(const AwsShape *shape, struct rgp_bytes body)
{
	unsigned count = 0;
	g_autofree char *problem = NULL;
	json_auto_t *kept = aws_xml_read(body, shape, look, &count, &problem);
	g_assert_true((kept != NULL) != (problem != NULL));
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
