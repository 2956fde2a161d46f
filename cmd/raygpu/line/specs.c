#include "command.h"

/* SPEC arguments: which files they mean, and what is reported about the others. */

#define NAMED 8 /* of the skipped files */

bool spec_is_here(Context *context)
{
	if (context->ref || g_file_test(DEFAULT_SPEC, G_FILE_TEST_EXISTS))
		return true;
	RgDiag *diag = rg_diags_error(context->diags, "usage.missing-argument",
		"no spec was given, and there is no %s here", DEFAULT_SPEC);
	rg_diag_hint(diag, "usage: raygpu %s [OPTIONS] %s; `raygpu init` writes a starter spec",
		context->command->name, context->command->arguments);
	return false;
}

static void tell_skipped(Context *context, const RgSpecs *specs)
{
	guint n = specs->skipped->len;
	if (!n)
		return;
	g_autoptr(GString) names = g_string_new(NULL);
	for (guint i = 0; i < n && i < NAMED; i++)
		g_string_append_printf(
			names, "%s%s", i ? ", " : "", (char *)specs->skipped->pdata[i]);
	if (n > NAMED)
		g_string_append_printf(names, " and %u more", n - NAMED);
	RgDiag *diag = rg_diags_note(context->diags, "spec.skipped",
		n == 1 ? "a YAML file is not a spec and was skipped"
		       : "%u YAML files are not specs and were skipped",
		n);
	rg_diag_detail(diag, "%s", names->str);
}

/* A folder without specs is a mistake, unless a branch removed the last one. */
static bool is_empty(Context *context, const RgSpecs *specs, char *const *arguments)
{
	if (specs->files->len || specs->untouched || specs->removed->len || context->changed_since)
		return false;
	g_autofree char *list = g_strjoinv(", ", (char **)(uintptr_t)arguments);
	RgDiag *diag =
		rg_diags_error(context->diags, "spec.none-found", "there is no spec in %s", list);
	rg_diag_hint(diag, "a spec is a .yaml or .yml file with the key \"cluster\"; name a file "
			   "itself to read it in any case");
	return true;
}

/* --changed-since: the revision is looked up once. */
static bool use_trusted(Context *context, const char *path)
{
	if (!context->changed_since)
		return true;
	rg_trusted_free(context->trusted);
	context->trusted = rg_trusted_at(path, context->changed_since, context->diags);
	return context->trusted != NULL;
}

RgSpecs *specs_of(Context *context, int argc, char **argv)
{
	char *const fallback[] = {
		(char *)(uintptr_t)(context->changed_since ? "." : DEFAULT_SPEC), NULL};
	char *const *arguments = argc > 1 ? argv + 1 : fallback;
	if (argc <= 1 && !context->changed_since && !spec_is_here(context))
		return NULL;
	context_settle_ref(context, arguments[0]);
	if (!use_trusted(context, arguments[0]))
		return NULL;
	const RgSpecsFrom from = {.ref = context->ref,
		.changed_since = context->changed_since ? context->trusted->commit : NULL,
		.since_name = context->changed_since};
	g_autoptr(RgSpecs) specs = rg_specs_find(arguments, &from, context->diags);
	if (!specs)
		return NULL;
	if (context->trusted)
		rg_trusted_learn(context->trusted, specs);
	tell_skipped(context, specs);
	return is_empty(context, specs, arguments) ? NULL : g_steal_pointer(&specs);
}

RgSpecs *specs_with_state(Context *context, int argc, char **argv)
{
	g_autoptr(RgSpecs) specs = specs_of(context, argc, argv);
	return specs && context_use_specs(context, specs) ? g_steal_pointer(&specs) : NULL;
}
