#include "aws/named.h"
#include <string.h>

#define LOOK_S 60

static void on_sighting(void *data, const json_t *record)
{
	json_t **last = data;
	json_decref(*last);
	*last = json_deep_copy(record);
}

rgp_status aws_look_up(
	const AwsCall *call, const AwsKind *kind, const json_t *filters, json_t **record)
{
	json_auto_t *params = json_copy(mod_unconst(filters));
	return aws_kind_describe(call, kind, params, on_sighting, NULL, record);
}

rgp_status aws_adopt(const AwsCall *call, const AwsKind *kind, const json_t *input,
	const json_t *filters, char **id, ModFailure *failure)
{
	ModBackoff backoff = mod_backoff_start(&call->talk, LOOK_S);
	json_t *last = NULL;
	rgp_status status;
	do {
		status = aws_look_up(call, kind, filters, &last);
		if (status != RGP_OK || last)
			break;
		status = mod_backoff_wait(&call->talk, &backoff);
	} while (status == RGP_OK);
	json_auto_t *record = last;
	if (!record)
		return status == RGP_FAIL ? RGP_OK : status;
	g_auto(AwsSeen) seen = {0};
	kind->read(record, &seen);
	const char *lineage = mod_str(json_object_get(input, "marks"), "lineage");
	if (!seen.gone && !g_strcmp0(seen.marks.token, mod_str(input, "token")) &&
		!g_strcmp0(seen.marks.lineage, lineage)) {
		*id = g_strdup(seen.id);
		mod_failure_clear(failure);
	}
	return RGP_OK;
}
