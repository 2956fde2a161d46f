/* The module's table: the calls of the host. Each call parses its input, finds the kind and calls
 * the file that does the work. */
#include "aws/account.h"
#include "aws/data.h"
#include "aws/kinds.h"
#include "aws/open.h"
#include "aws/permissions.h"
#include <string.h>

static const AwsKind *const kinds[] = {
	&aws_group_kind, &aws_interface_kind, &aws_instance_kind, &aws_placement_kind};

static const AwsKind *find_kind(const AwsCall *call, const char *name)
{
	for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
		if (g_str_equal(kinds[i]->kind, name))
			return kinds[i];
	g_autofree char *summary = g_strdup_printf("there is no kind \"%s\"", name);
	mod_report_text(&call->talk, RGP_CLASS_INVALID, summary, NULL, NULL);
	return NULL;
}

static rgp_status call_schema(const struct rgp_host *host, struct rgp_call *call)
{
	const struct rg_embedded *schema = aws_data_find("schema.json");
	return host->result(call, "schema", (struct rgp_bytes){schema->data, schema->len});
}

typedef rgp_status (*WholeFn)(const AwsCall *, const json_t *input);
typedef rgp_status (*KindFn)(const AwsCall *, const AwsKind *, const json_t *input);

/* One of whole and of_kind is set. */
static rgp_status run(struct rgp_inst *inst, const struct rgp_host *host, struct rgp_call *call,
	const struct rgp_args *args, WholeFn whole, KindFn of_kind)
{
	const AwsCall aws = {{host, call}, inst};
	json_auto_t *input = mod_input(&aws.talk, args);
	if (!input)
		return RGP_FAIL;
	if (whole)
		return whole(&aws, input);
	const AwsKind *kind = find_kind(&aws, mod_str(input, "kind"));
	return kind ? of_kind(&aws, kind, input) : RGP_FAIL;
}

static rgp_status list_kinds(const AwsCall *call, const json_t *input)
{
	const json_t *names = json_object_get(input, "kinds");
	rgp_status status = RGP_OK;
	if (!json_array_size(names)) {
		mod_report_text(&call->talk, RGP_CLASS_INVALID, "list needs kinds", NULL, NULL);
		return RGP_FAIL;
	}
	for (size_t i = 0; i < json_array_size(names) && status == RGP_OK; i++) {
		const char *name = json_string_value(json_array_get(names, i));
		const AwsKind *kind = find_kind(call, name ? name : "");
		status = kind ? aws_list(call, kind, input) : RGP_FAIL;
	}
	return status == RGP_OK ? mod_give_complete(&call->talk) : status;
}

static rgp_status create_of(const AwsCall *call, const AwsKind *kind, const json_t *input)
{
	if (json_array_size(json_object_get(input, "items")) && *mod_str(input, "token"))
		return kind->create(call, input);
	mod_report_text(
		&call->talk, RGP_CLASS_INVALID, "create needs items and a token", NULL, NULL);
	return RGP_FAIL;
}

static rgp_status remove_of(const AwsCall *call, const AwsKind *kind, const json_t *input)
{
	const json_t *items = json_object_get(input, "items");
	return json_array_size(items) ? kind->remove(call, items) : RGP_OK;
}

#define CALL(name, whole, of_kind)                                                                 \
	static rgp_status call_##name(struct rgp_inst *inst, const struct rgp_host *host,          \
		struct rgp_call *call, const struct rgp_args *args)                                \
	{                                                                                          \
		return run(inst, host, call, args, whole, of_kind);                                \
	}

CALL(resolve, aws_resolve, NULL)
CALL(lower, aws_lower, NULL)
CALL(list, list_kinds, NULL)
CALL(create, NULL, create_of)
CALL(remove, NULL, remove_of)
CALL(update, NULL, aws_update)
CALL(ready, NULL, aws_ready)
CALL(find, NULL, aws_find)
CALL(reveal, NULL, aws_reveal)
CALL(preflight, aws_preflight, NULL)
CALL(account, aws_account, NULL)
CALL(console, NULL, aws_console)
CALL(permissions, aws_permissions, NULL)

static const struct rgp_provider provider = {
	.size = sizeof provider,
	.abi_major = RGP_ABI_MAJOR,
	.abi_minor = RGP_ABI_MINOR,
	.flags = RGP_PARALLEL,
	.name = "aws",
	.version = RAYGPU_VERSION,
	.schema = call_schema,
	.open = aws_open,
	.close = aws_close,
	.resolve = call_resolve,
	.lower = call_lower,
	.list = call_list,
	.create = call_create,
	.remove = call_remove,
	.update = call_update,
	.ready = call_ready,
	.find = call_find,
	.preflight = call_preflight,
	.reveal = call_reveal,
	.account = call_account,
	.console = call_console,
	.permissions = call_permissions,
};

#ifdef RGP_STATIC
RGP_ENTRY(aws);
#endif
RGP_ENTRY(aws)
{
	return &provider;
}
