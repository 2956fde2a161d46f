/* A module as somebody built it against the header of ABI 1.0, beside it in raygpu/. Neither file
 * changes any more: what loads today must load tomorrow. */
#include <string.h>
#include "raygpu/provider.h"

static const char schema_json[] =
	"{\"format\":1,\"provider\":\"frozen_1_0\","
	"\"boot\":{\"by\":\"nothing\"},\"limits\":{\"requests_per_s\":1,\"burst\":1},"
	"\"kinds\":{\"frozen_1_0.thing\":{\"version\":1,"
	"\"batch\":{\"create\":1,\"update\":1,\"remove\":1},"
	"\"attributes\":{\"size\":{\"type\":\"integer\"}}}}}";

static rgp_status give(
	const struct rgp_host *host, struct rgp_call *call, const char *slot, const char *text)
{
	struct rgp_bytes bytes = {text, strlen(text)};
	return host->result(call, slot, bytes);
}

static rgp_status frozen_schema(const struct rgp_host *host, struct rgp_call *call)
{
	return give(host, call, "schema", schema_json);
}

static rgp_status frozen_open(const struct rgp_host *host, struct rgp_call *call,
	const struct rgp_args *args, struct rgp_inst **inst)
{
	(void)call, (void)args;
	*inst = NULL;
	return RGP_HAS(host, now) ? RGP_OK : RGP_FAIL;
}

static void frozen_close(struct rgp_inst *inst)
{
	(void)inst;
}

/* A diagnostic of the size that it had, and a page. */
static rgp_status frozen_list(struct rgp_inst *inst, const struct rgp_host *host,
	struct rgp_call *call, const struct rgp_args *args)
{
	struct rgp_diag diag = {.size = sizeof diag, .severity = 1, .summary = "from 1.0"};
	(void)inst, (void)args;
	host->diag(call, &diag);
	give(host, call, "page",
		"{\"resources\":[{\"id\":\"i\",\"address\":\"frozen_1_0.thing.a\",\"state\":"
		"\"present\",\"attributes\":{\"size\":5}}]}");
	return give(host, call, "done", "{\"complete\":true}");
}

static rgp_status frozen_call(struct rgp_inst *inst, const struct rgp_host *host,
	struct rgp_call *call, const struct rgp_args *args)
{
	(void)inst, (void)host, (void)call, (void)args;
	return RGP_UNSUPPORTED;
}

static const struct rgp_provider provider = {
	.size = sizeof provider,
	.abi_major = RGP_ABI_MAJOR,
	.abi_minor = RGP_ABI_MINOR,
	.name = "frozen_1_0",
	.version = "1.0",
	.schema = frozen_schema,
	.open = frozen_open,
	.close = frozen_close,
	.resolve = frozen_call,
	.lower = frozen_call,
	.list = frozen_list,
	.create = frozen_call,
	.remove = frozen_call,
};

RGP_ENTRY(frozen_1_0)
{
	return &provider;
}
