#include "aws/preflight.h"
#include "aws/kinds.h"

/* ---- what was found */

static void note_unchecked(AwsPreflight *preflight)
{
	mod_ptr_foreach (const AwsProbe, probe, preflight->probes) {
		if (probe->what && !aws_probe_ok(probe))
			mod_find_nothing(&preflight->findings, probe->what, probe->request.action,
				&probe->reply.failure);
	}
}

static void collect_nodes(AwsPreflight *preflight)
{
	mod_foreach (create, preflight->creates)
		if (g_str_equal(mod_str(create, "kind"), AWS_INSTANCE))
			g_ptr_array_add(preflight->nodes, mod_unconst(create));
}

rgp_status aws_preflight(const AwsCall *call, const json_t *input)
{
	g_autoptr(GPtrArray) nodes = g_ptr_array_new();
	g_autoptr(GPtrArray) probes = g_ptr_array_new_with_free_func(aws_probe_free);
	g_autoptr(GPtrArray) dry_runs = g_ptr_array_new();
	AwsPreflight preflight = {.call = call,
		.findings = {.talk = &call->talk},
		.applies = json_is_true(json_object_get(input, "applies")),
		.cluster = mod_str(input, "cluster"),
		.image = mod_str(input, "container_image"),
		.creates = json_object_get(input, "creates"),
		.nodes = nodes,
		.probes = probes,
		.dry_runs = dry_runs};
	collect_nodes(&preflight);
	if (!nodes->len) /* what else is made has neither quota nor place */
		return RGP_OK;
	aws_ask_quotas(&preflight);
	aws_ask_places(&preflight);
	aws_ask_ways(&preflight);
	aws_ask_rights(&preflight);
	rgp_status status = aws_probes_send(&preflight);
	aws_ask_pull(&preflight);
	if (status == RGP_OK)
		status = aws_probes_send(&preflight);
	if (status != RGP_OK)
		return status;
	aws_check_places(&preflight);
	aws_check_quotas(&preflight);
	aws_check_ways(&preflight);
	aws_check_rights(&preflight);
	aws_check_pull(&preflight);
	note_unchecked(&preflight);
	return mod_findings_end(&preflight.findings,
		"allow these calls to the caller (see the policy in providers/aws/README.md), or "
		"accept that `apply` finds out");
}
