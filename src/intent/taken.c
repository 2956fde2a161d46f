/* A cluster name that is taken: resources that carry it under another lineage were created with
 * another state, or with this one before it was lost. Creating the cluster in addition would mean
 * paying for it twice. */
#include <string.h>
#include "intent/internal.h"

#define SHOWN_MAX 8 /* resources listed in a diagnostic */

bool rg_intent_has_nodes(const RgIntent *intent)
{
	const RgResourceSet *recorded = intent->snapshot->recorded;
	for (size_t i = 0; i < rg_resource_set_size(recorded); i++) {
		const RgKind *kind = rg_schema_kind(rg_provider_get_schema(intent->provider),
			rg_resource_set_get(recorded, i)->kind);
		if (kind && kind->node)
			return true;
	}
	return false;
}

static bool creates(const RgDiff *diff)
{
	rg_ptr_foreach (const RgChange, change, diff->changes)
		if (change->action == RG_ACTION_CREATE && !change->replay)
			return true;
	return false;
}

static gint by_lineage_and_id(gconstpointer a, gconstpointer b)
{
	const RgResource *x = *(const RgResource *const *)a, *y = *(const RgResource *const *)b;
	int order = strcmp(x->lineage, y->lineage);
	order = order ? order : strcmp(x->kind, y->kind);
	return order ? order : strcmp(x->id, y->id);
}

static char *list_them(const GPtrArray *strangers)
{
	GString *text = g_string_new(NULL);
	for (guint i = 0; i < MIN(strangers->len, SHOWN_MAX); i++) {
		const RgResource *stranger = strangers->pdata[i];
		const RgResource *before = i ? strangers->pdata[i - 1] : NULL;
		if (!before || !g_str_equal(before->lineage, stranger->lineage))
			g_string_append_printf(
				text, "%slineage %s:", i ? "\n" : "", stranger->lineage);
		g_string_append_printf(text, "\n%s %s%s%s", stranger->kind, stranger->id,
			stranger->status ? ", " : "", stranger->status ? stranger->status : "");
	}
	if (strangers->len > SHOWN_MAX)
		g_string_append_printf(text, "\nand %u more", strangers->len - SHOWN_MAX);
	return g_string_free(text, FALSE);
}

/* The command that records what was found. It needs a state without this cluster, and a lineage if
 * resources of several carry the name. */
static char *rebuild_command(const RgIntent *intent, const char *state_path)
{
	const GPtrArray *strangers = intent->strangers;
	const RgResource *first = strangers->pdata[0], *last = strangers->pdata[strangers->len - 1];
	g_autofree char *spec = rg_shell_word(intent->cluster->file);
	g_autofree char *state = rg_shell_word(state_path);
	g_autofree char *lineage = rg_shell_word(first->lineage);
	bool known = intent->snapshot->lineage != NULL;
	bool one = g_str_equal(first->lineage, last->lineage);
	return g_strdup_printf("raygpu state rebuild %s --state %s%s%s", spec,
		known ? "NEW-FILE" : state, known || !one ? " --lineage " : "",
		!one	? "LINEAGE"
		: known ? lineage
			: "");
}

static void explain(const RgIntent *intent, const char *state, bool refused, RgDiag *diag)
{
	g_autofree char *list = list_them(intent->strangers);
	rg_diag_detail(diag, "%s", list);
	if (!intent->cluster) {
		rg_diag_hint(diag, "use the state that created them with --state FILE");
		return;
	}
	g_autofree char *command = rebuild_command(intent, state);
	rg_diag_at(diag, rg_cluster_source(intent->cluster, "/cluster"));
	if (refused)
		rg_diag_hint(diag,
			"if this cluster already exists, use the state that created it with "
			"--state FILE; if that state is lost, `%s` rebuilds it; if they belong to "
			"another cluster, rename this one",
			command);
	else
		rg_diag_hint(diag,
			"cluster names must be unique: rename one of the two; if the state that "
			"created them is lost, `%s` rebuilds it",
			command);
}

bool rg_intent_check_name(const RgIntent *intent, const char *state, RgDiags *diags)
{
	GPtrArray *strangers = intent->strangers;
	if (!strangers->len)
		return true;
	g_ptr_array_sort(strangers, by_lineage_and_id);
	/* without a record a removal would remove nothing, and seem to have removed them */
	bool risky = intent->destroy ? !intent->snapshot->lineage
				     : !intent->diff || creates(intent->diff);
	bool refused = risky && !intent->looking && !rg_intent_has_nodes(intent);
	g_autofree char *place = rg_place_text(rg_provider_name(intent->provider),
		intent->cluster ? intent->cluster->provider.region : intent->snapshot->region);
	RgDiag *diag = (refused ? rg_diags_error : rg_diags_warning)(diags, "plan.name-taken",
		"%u resource%s in %s %s the name of cluster %s, but this state did not create %s",
		strangers->len, strangers->len == 1 ? "" : "s", place,
		strangers->len == 1 ? "carries" : "carry", intent->snapshot->cluster,
		strangers->len == 1 ? "it" : "them");
	explain(intent, state, refused, diag);
	return !refused;
}
