/* Compares the spec's labels and names with what the provider's cloud can carry: "labels" and
 * "marks" in the module's schema.json. */
#include "pipeline/internal.h"

static void label_report(const RgCluster *cluster, const char *key, const char *code,
	const char *hint, const char *summary, RgDiags *diags)
{
	g_autofree char *pointer = rg_json_pointer_add("/labels", key);
	RgDiag *diag = rg_diags_error(diags, code, "%s", summary);
	rg_diag_at(diag, rg_cluster_source(cluster, pointer));
	if (hint)
		rg_diag_hint(diag, "%s", hint);
}

static bool matches(const char *pattern, const char *text)
{
	return g_regex_match_simple(pattern, text, G_REGEX_DOLLAR_ENDONLY, 0);
}

static bool check_reserved(
	const RgCluster *cluster, const json_t *rules, const char *key, RgDiags *diags)
{
	size_t i;
	json_t *rule;
	json_array_foreach (json_object_get(rules, "reserved"), i, rule) {
		if (!matches(rg_json_str(rule, "pattern", "^$"), key))
			continue;
		g_autofree char *summary = g_strdup_printf(
			"the label \"%s\" is reserved: %s", key, rg_json_str(rule, "why", ""));
		label_report(cluster, key, "spec.reserved-label", rg_json_str(rule, "hint", NULL),
			summary, diags);
		return false;
	}
	return true;
}

/* `part`: "key" or "value". */
static bool check_form(const RgCluster *cluster, const json_t *rules, const char *part,
	const char *key, const char *text, RgDiags *diags)
{
	const json_t *rule = json_object_get(rules, part);
	if (!rule || matches(rg_json_str(rule, "pattern", ""), text))
		return true;
	g_autofree char *summary = g_strdup_printf("%s does not accept a label with the %s \"%s\"",
		cluster->provider.name, part, text);
	g_autofree char *hint = g_strdup_printf("it must be %s", rg_json_str(rule, "expected", ""));
	label_report(cluster, key, "spec.bad-pattern", hint, summary, diags);
	return false;
}

static bool check_count(const RgCluster *cluster, const json_t *rules, RgDiags *diags)
{
	int64_t most = rg_json_int(rules, "most", INT64_MAX);
	if ((int64_t)json_object_size(cluster->labels) <= most)
		return true;
	RgDiag *diag = rg_diags_error(diags, "spec.out-of-range",
		"%s accepts at most %" G_GINT64_FORMAT " labels, not %zu", cluster->provider.name,
		most, json_object_size(cluster->labels));
	rg_diag_at(diag, rg_cluster_source(cluster, "/labels"));
	return false;
}

bool pass_check_labels(const RgCluster *cluster, const RgSchema *schema, RgDiags *diags)
{
	const json_t *rules = rg_schema_labels(schema);
	const char *key;
	json_t *value;
	bool ok = check_count(cluster, rules, diags);
	json_object_foreach (cluster->labels, key, value) {
		bool fits =
			check_reserved(cluster, rules, key, diags) &&
			check_form(cluster, rules, "key", key, key, diags) &&
			check_form(cluster, rules, "value", key, json_string_value(value), diags);
		ok = ok && fits;
	}
	return ok;
}

/* The cluster's and the pools' names are in the ownership marks of each resource. */
static bool check_mark(const RgCluster *cluster, const json_t *form, const char *what,
	const char *name, RgSource source, RgDiags *diags)
{
	if (!form || matches(rg_json_str(form, "pattern", ""), name))
		return true;
	RgDiag *diag = rg_diags_error(diags, "spec.bad-pattern",
		"%s cannot tag its resources with the %s \"%s\"", cluster->provider.name, what,
		name);
	rg_diag_at(diag, source);
	rg_diag_hint(diag, "it must be %s", rg_json_str(form, "expected", ""));
	return false;
}

bool pass_check_marks(const RgCluster *cluster, const RgSchema *schema, RgDiags *diags)
{
	const json_t *form = rg_schema_mark_form(schema);
	bool ok = check_mark(cluster, form, "cluster's name", cluster->name,
		rg_cluster_source(cluster, "/cluster"), diags);
	for (guint i = 0; i < cluster->pools->len; i++) {
		const RgPool *pool = cluster->pools->pdata[i];
		ok = check_mark(cluster, form, "pool's name", pool->name, pool->source, diags) &&
		     ok;
	}
	return ok;
}

json_t *pass_ignored_tags(const RgCluster *cluster, const RgProject *project)
{
	json_t *ignored = json_array();
	if (cluster && cluster->ignore_tags)
		json_array_extend(ignored, cluster->ignore_tags);
	if (project && json_object_get(project->view, "ignore_tags"))
		json_array_extend(ignored, json_object_get(project->view, "ignore_tags"));
	if (json_array_size(ignored))
		return ignored;
	json_decref(ignored);
	return NULL;
}
