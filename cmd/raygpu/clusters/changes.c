#include "command.h"
#include "base/caps.h"
#include <errno.h>
#include <string.h>

#define REASON_MAX 500 /* maximum length of the reason for exceeding a budget */

/* Shared by plan, apply, destroy and drift: the pass through the pipeline, and plan files. */

void change_options_use(Context *context, const ChangeOptions *options, bool destroy)
{
	RgDiffOptions *diff = &context->session.diff;
	diff->destroy = destroy;
	diff->targets = options->targets;
	diff->excludes = options->excludes;
	diff->replace = options->replaces;
	diff->refresh_only = options->refresh_only;
	context->session.override = options->override;
	context->session.skip_preflight = options->skip_preflight;
	if (options->no_settle)
		context->session.settle_ms = 0;
}

void change_options_clear(ChangeOptions *options)
{
	g_strfreev(options->targets);
	g_strfreev(options->excludes);
	g_strfreev(options->replaces);
	g_free(options->override);
}

bool change_options_check(Context *context, ChangeOptions *options)
{
	if (options->refresh_only && options->replaces) {
		rg_diags_error(context->diags, "usage.conflict",
			"--refresh-only changes nothing in the cloud, so it replaces nothing");
		return false;
	}
	if (!options->override)
		return true;
	g_strstrip(options->override);
	if (*options->override && g_utf8_validate(options->override, -1, NULL) &&
		g_utf8_strlen(options->override, -1) <= REASON_MAX)
		return true;
	RgDiag *diag = rg_diags_error(context->diags, "usage.bad-argument",
		"--override-budget requires a reason of 1 to %d characters", REASON_MAX);
	rg_diag_hint(diag, "state who allowed it and why; the log keeps the reason");
	return false;
}

static bool cluster_alone(Context *context, const char *spec_path, RgDiags *diags)
{
	if (spec_path)
		rg_diags_error(diags, "usage.conflict", "give a spec or --cluster, not both");
	else if (context->ref)
		rg_diags_error(diags, "usage.conflict",
			"--cluster works without a spec, so there is none to read at --ref");
	return !spec_path && !context->ref;
}

RgPass *make_pass(Context *context, const char *spec_path, RgPass *loaded, RgDiags *diags)
{
	g_autoptr(RgPass) pass = loaded;
	bool made = false;
	if (context->cluster && cluster_alone(context, spec_path, diags)) {
		pass = rg_pipeline_plan_recorded(&context->session, context->cluster, diags);
		made = pass != NULL;
	} else if (!context->cluster && (spec_path || spec_is_here(context))) {
		if (!pass)
			pass = rg_pipeline_load(spec_path ? spec_path : DEFAULT_SPEC, context->ref,
				context->trusted, diags);
		made = pass &&
		       (context->session.diff.refresh_only
				       ? rg_pipeline_plan_refresh(&context->session, pass, diags)
				       : rg_pipeline_plan(&context->session, pass, diags));
	}
	status_clear(context);
	return made ? g_steal_pointer(&pass) : NULL;
}

static char *read_file(Context *context, const char *path, size_t *len)
{
	char *text = NULL;
	g_autoptr(GError) error = NULL;
	if (!g_file_get_contents(path, &text, len, &error)) {
		report_unreadable(context, path, error);
		return NULL;
	}
	if (*len > RG_CAP_PLAN_BYTES) {
		rg_diags_error(
			context->diags, "plan.bad-file", "\"%s\" is too large for a plan", path);
		g_clear_pointer(&text, g_free);
	}
	return text;
}

/* A saved plan is JSON with resource_changes; a spec may be JSON too, but has no such key. */
RgPlan *plan_file_load(Context *context, const char *path, bool *is_plan)
{
	size_t len = 0;
	if (is_plan)
		*is_plan = true;
	g_autofree char *text = read_file(context, path, &len);
	if (!text)
		return NULL;
	const char *start = text + strspn(text, " \t\r\n");
	if (is_plan && (*start != '{' || !strstr(text, "\"resource_changes\""))) {
		*is_plan = false;
		return NULL;
	}
	json_auto_t *document = rg_json_parse(text, len, path, "plan.bad-file", context->diags);
	return document ? rg_plan_from_json(document, context->diags) : NULL;
}

/* A token that an import read from a running node is in no plan, and nothing else has it. */
static bool check_secrets(Context *context, const RgPlan *plan)
{
	rg_ptr_foreach (const RgPlanChange, change, plan->changes) {
		if (!change->import || json_object_get(change->import, "record"))
			continue;
		RgDiag *diag = rg_diags_error(context->diags, "import.refused",
			"the plan cannot be saved: the Ray token was read from the imported nodes, "
			"and a "
			"plan file contains no secret");
		rg_diag_address(diag, change->address, NULL);
		rg_diag_hint(diag, "apply the spec without a saved plan");
		return false;
	}
	return true;
}

/* Written completely or not at all; 0600, because attributes may reveal more than a log should. */
bool plan_file_save(Context *context, const char *path, const RgPlan *plan)
{
	if (!check_secrets(context, plan))
		return false;
	json_auto_t *document = rg_plan_to_json(plan);
	char *text = json_dumps(document, JSON_INDENT(1));
	g_autoptr(GError) error = NULL;
	bool ok = g_file_set_contents_full(path, text, -1,
		G_FILE_SET_CONTENTS_CONSISTENT | G_FILE_SET_CONTENTS_DURABLE, 0600, &error);
	free(text);
	if (!ok)
		report_unwritable(context, path, error);
	return ok;
}
