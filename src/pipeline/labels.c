/* Compares the spec's labels and names with what the provider's cloud can carry: "labels" and
 * "marks" in the module's schema.json. */
#include "pipeline/internal.h"

static void label_at(RgDiag *diag, const char *key)
{
	g_autofree char *pointer = rg_json_pointer_add("/labels", key);
	rg_diag_origin(diag, pointer);
}

static bool check_reserved(const json_t *rules, const char *key, RgDiags *diags)
{
	rg_json_foreach (rule, json_object_get(rules, "reserved")) {
		const char *hint = rg_json_str(rule, "hint", NULL);
		if (!pass_fits(rule, key))
			continue;
		RgDiag *diag = rg_diags_error(diags, "spec.reserved-label",
			"the label \"%s\" is reserved: %s", key, rg_json_str(rule, "why", ""));
		label_at(diag, key);
		if (hint)
			rg_diag_hint(diag, "%s", hint);
		return false;
	}
	return true;
}

/* `part`: "key" or "value". */
static bool check_form(const RgCluster *cluster, const json_t *rules, const char *part,
	const char *key, const char *text, RgDiags *diags)
{
	const json_t *rule = json_object_get(rules, part);
	if (pass_fits(rule, text))
		return true;
	RgDiag *diag = rg_diags_error(diags, "spec.bad-pattern",
		"%s does not accept a label with the %s \"%s\"", cluster->provider.name, part,
		text);
	label_at(diag, key);
	rg_diag_hint(diag, "it must be %s", rg_json_str(rule, "expected", ""));
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
	rg_diag_origin(diag, "/labels");
	return false;
}

bool pass_check_labels(const RgCluster *cluster, const RgSchema *schema, RgDiags *diags)
{
	const json_t *rules = rg_schema_labels(schema);
	bool ok = check_count(cluster, rules, diags);
	rg_json_foreach_member (key, value, cluster->labels) {
		bool fits =
			check_reserved(rules, key, diags) &&
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
	if (pass_fits(form, name))
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
	rg_ptr_foreach (const RgPool, pool, cluster->pools)
		ok = check_mark(cluster, form, "pool's name", pool->name, pool->source, diags) &&
		     ok;
	return ok;
}

static bool is_in(const json_t *list, const json_t *pattern)
{
	bool found = false;
	for (size_t i = 0; i < json_array_size(list); i++)
		found = found || json_equal(json_array_get(list, i), pattern);
	return found;
}

/* Without the patterns that only the change has. A spec that the trusted side lacks is new. */
static void keep_trusted(json_t *ignored, const RgCluster *cluster, const RgTrustedSide *side)
{
	const json_t *specs = side->spec ? side->spec->ignore_tags
			      : cluster	 ? cluster->ignore_tags
					 : NULL;
	const json_t *projects =
		side->project ? json_object_get(side->project->view, "ignore_tags") : NULL;
	for (size_t i = json_array_size(ignored); i > 0; i--) {
		const json_t *pattern = json_array_get(ignored, i - 1);
		if (!is_in(specs, pattern) && !is_in(projects, pattern))
			json_array_remove(ignored, i - 1);
	}
}

json_t *pass_ignored_tags(const RgCluster *cluster, const RgProject *project)
{
	json_t *ignored = json_array();
	if (cluster && cluster->ignore_tags)
		json_array_extend(ignored, cluster->ignore_tags);
	if (project && json_object_get(project->view, "ignore_tags"))
		json_array_extend(ignored, json_object_get(project->view, "ignore_tags"));
	if (project && project->trusted)
		keep_trusted(ignored, cluster, project->trusted);
	if (json_array_size(ignored))
		return ignored;
	json_decref(ignored);
	return NULL;
}
