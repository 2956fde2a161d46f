/* `raygpu status`: a line for each pool, what is not as it should be, the last change. */
#include "render/text/paint.h"
#include "base/clock.h"

static const json_t *seen_of(const RgStatus *status, const char *pool)
{
	rg_json_foreach (seen, json_object_get(status->drift->seen, "pools"))
		if (g_str_equal(rg_json_str(seen, "pool", ""), pool))
			return seen;
	return NULL;
}

static json_t *pool_json(const RgStatus *status, const RgPlanPool *pool)
{
	static const char *const counts[] = {"running", "gpus"}, *const members[] = {
									 "joined", "gpus_in_ray"};
	const json_t *seen = seen_of(status, pool->pool);
	json_t *row = json_object();
	rg_json_set_str(row, "pool", pool->pool);
	rg_json_set_str(row, "instance_type",
		pool->instance_type_before ? pool->instance_type_before : pool->instance_type);
	rg_json_set_str(row, "accelerator", pool->accelerator);
	json_object_set_new(row, "desired", json_integer(pool->after.now.nodes));
	for (size_t i = 0; i < G_N_ELEMENTS(counts); i++)
		json_object_set_new(row, counts[i], json_integer(rg_json_int(seen, counts[i], 0)));
	for (size_t i = 0; i < G_N_ELEMENTS(members); i++) {
		json_t *n = json_object_get(seen, members[i]);
		json_object_set_new(row, members[i], n ? json_incref(n) : json_null());
	}
	json_t *drivers = json_object_get(seen, "drivers");
	json_object_set_new(row, "drivers", drivers ? json_incref(drivers) : json_array());
	return row;
}

static bool is_well(const json_t *pool)
{
	const json_t *joined = json_object_get(pool, "joined");
	int64_t running = rg_json_int(pool, "running", 0);
	return running == rg_json_int(pool, "desired", 0) &&
	       (!json_is_integer(joined) || json_integer_value(joined) == running);
}

/* null: nothing is wrong, but not everything is known. A new reference. */
static json_t *health_of(const RgStatus *status, const json_t *pools)
{
	bool known =
		!status->reports || json_is_integer(json_object_get(status->drift->seen, "at_s"));
	rg_json_foreach (pool, pools)
		if (!is_well(pool))
			return json_false();
	if (status->drift->items->len)
		return json_false();
	return known && !status->drift->unread ? json_true() : json_null();
}

static json_t *run_json(const json_t *run)
{
	static const char *const kept[] = {
		"id", "command", "started_s", "ended_s", "outcome", "user", "host"};
	json_t *row = json_object();
	for (size_t i = 0; i < G_N_ELEMENTS(kept); i++) {
		json_t *value = json_object_get(run, kept[i]);
		json_object_set_new(row, kept[i], value ? json_incref(value) : json_null());
	}
	return row;
}

json_t *rg_render_status_json(const RgStatus *status)
{
	const RgPlan *plan = status->plan;
	json_t *document = json_object(), *pools = json_array(), *findings = json_array();
	json_t *at_s = json_object_get(status->drift->seen, "at_s");
	rg_ptr_foreach (const RgPlanPool, pool, plan->pools)
		json_array_append_new(pools, pool_json(status, pool));
	rg_ptr_foreach (const RgDriftItem, item, status->drift->items) {
		g_autofree char *name = drift_name(item), *phrase = drift_phrase(item);
		g_autofree char *text = g_strdup_printf("%s %s", name, phrase);
		json_array_append_new(findings,
			json_pack("{s:s, s:o}", "text", text, "drift", rg_render_drift_item(item)));
	}
	rg_json_set_str(document, "cluster", plan->cluster);
	rg_json_set_str(document, "provider", plan->provider);
	rg_json_set_str(document, "region", plan->region);
	json_object_set_new(document, "healthy", health_of(status, pools));
	json_object_set_new(document, "members_s", at_s ? json_incref(at_s) : json_null());
	rg_json_set_str(
		document, "ray_version", rg_json_str(status->drift->seen, "ray_version", NULL));
	json_t *demand = json_object_get(status->drift->seen, "demand");
	json_object_set_new(document, "demand", demand ? json_incref(demand) : json_null());
	json_object_set_new(document, "unread", json_integer(status->drift->unread));
	json_object_set_new(document, "pools", pools);
	json_object_set_new(document, "findings", findings);
	json_object_set_new(document, "groups",
		status->drift->groups ? json_incref(status->drift->groups) : json_array());
	json_object_set_new(document, "to_apply",
		json_pack("{s:I, s:I, s:I}", "add", (json_int_t)plan->create + plan->replace,
			"change", (json_int_t)plan->update, "destroy",
			(json_int_t)plan->remove + plan->replace));
	json_object_set_new(document, "last_change",
		status->last_run ? run_json(status->last_run) : json_null());
	return document;
}

/* ---- as people read it */

/* "-": not known; g_free */
static char *number(const json_t *pool, const char *key)
{
	const json_t *n = json_object_get(pool, key);
	return json_is_integer(n) ? g_strdup_printf("%" JSON_INTEGER_FORMAT, json_integer_value(n))
				  : g_strdup("-");
}

static void add_pool(GPtrArray *table, const json_t *pool)
{
	g_autofree char *desired = number(pool, "desired"), *running = number(pool, "running");
	g_autofree char *joined = number(pool, "joined"), *gpus = number(pool, "gpus");
	g_autofree char *in_ray = number(pool, "gpus_in_ray");
	const json_t *drivers = json_object_get(pool, "drivers");
	g_autoptr(GString) names = g_string_new(NULL);
	rg_json_foreach (driver, drivers)
		g_string_append_printf(
			names, "%s%s", names->len ? ", " : "", json_string_value(driver));
	table_add(table, rg_json_str(pool, "pool", ""), desired, running, joined, gpus, in_ray,
		rg_json_str(pool, "instance_type", "-"), names->str, NULL);
}

static void add_summary(GString *text, const json_t *document, const RgStyle *style)
{
	int64_t running = 0, joined = 0;
	const json_t *healthy = json_object_get(document, "healthy");
	const json_t *at_s = json_object_get(document, "members_s");
	const char *version = rg_json_str(document, "ray_version", NULL);
	rg_json_foreach (pool, json_object_get(document, "pools")) {
		running += rg_json_int(pool, "running", 0);
		joined += rg_json_int(pool, "joined", 0);
	}
	g_autofree char *cluster = clean(rg_json_str(document, "cluster", ""));
	g_autofree char *ray = clean(version ? version : "");
	g_autofree char *members = json_is_integer(at_s)
					   ? g_strdup_printf(", %" G_GINT64_FORMAT " in Ray%s%s",
						     joined, version ? " " : "", ray)
					   : g_strdup("");
	paintf(text, style,
		json_is_true(healthy)	? GREEN
		: json_is_null(healthy) ? YELLOW
					: RED,
		"%s: %s. %" G_GINT64_FORMAT " node%s running%s.", cluster,
		json_is_true(healthy)	? "healthy"
		: json_is_null(healthy) ? "unknown"
					: "not healthy",
		running, running == 1 ? "" : "s", members);
	g_string_append(text, "\n\n");
}

/* "3 x {CPU: 1, GPU: 8}" */
static void append_shape(GString *text, const json_t *shape)
{
	const char *name, *separator = "";
	json_t *amount;
	g_string_append_printf(text, "%" G_GINT64_FORMAT " x {", rg_json_int(shape, "count", 0));
	json_object_foreach (rg_json_unconst(json_object_get(shape, "resources")), name, amount) {
		g_string_append_printf(
			text, "%s%s: %.10g", separator, name, json_number_value(amount));
		separator = ", ";
	}
	g_string_append_c(text, '}');
}

static void add_demand(GString *text, const json_t *demand, const RgStyle *style)
{
	int64_t requests = rg_json_int(demand, "requests", 0);
	int64_t groups = rg_json_int(demand, "groups", 0);
	g_autoptr(GString) list = g_string_new(NULL);
	rg_json_foreach (shape, json_object_get(demand, "shapes")) {
		g_string_append(list, list->len ? ", " : ": ");
		append_shape(list, shape);
	}
	if (requests)
		wrapf(text, style, "", "%" G_GINT64_FORMAT " %s for resources%s.", requests,
			requests == 1 ? "task or actor waits" : "tasks and actors wait", list->str);
	if (groups)
		wrapf(text, style, "", "%" G_GINT64_FORMAT " placement group%s for resources.",
			groups, groups == 1 ? " waits" : "s wait");
}

/* Of pools without a finding, which says why. */
static void add_joining(GString *text, const json_t *document, const RgStyle *style)
{
	rg_json_foreach (pool, json_object_get(document, "pools")) {
		const char *name = rg_json_str(pool, "pool", "");
		int64_t running = rg_json_int(pool, "running", 0);
		int64_t missing = running - rg_json_int(pool, "joined", running);
		rg_json_foreach (finding, json_object_get(document, "findings"))
			if (g_str_equal(name,
				    rg_json_str(json_object_get(finding, "drift"), "pool", "")))
				missing = 0;
		if (missing > 0)
			wrapf(text, style, "",
				"%s: %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
				" nodes may still join Ray.",
				name, missing, running);
	}
}

static void add_notes(GString *text, const json_t *document, const RgStyle *style)
{
	const json_t *to_apply = json_object_get(document, "to_apply");
	const json_t *run = json_object_get(document, "last_change");
	int64_t n = rg_json_int(to_apply, "add", 0) + rg_json_int(to_apply, "change", 0) +
		    rg_json_int(to_apply, "destroy", 0);
	const json_t *at_s = json_object_get(document, "members_s");
	if (rg_json_int(document, "unread", 0))
		wrapf(text, style, "", "%" G_GINT64_FORMAT " resources could not be read.",
			rg_json_int(document, "unread", 0));
	if (json_is_integer(at_s)) {
		g_autofree char *when = rg_clock_format(json_integer_value(at_s));
		wrapf(text, style, "", "The head listed the members of Ray at %s.", when);
	} else {
		wrapf(text, style, "", "Which nodes are members of Ray is not known.");
	}
	if (n)
		wrapf(text, style, "",
			"An apply would add %" G_GINT64_FORMAT ", change %" G_GINT64_FORMAT
			" and destroy %" G_GINT64_FORMAT " resources: `raygpu plan` lists them.",
			rg_json_int(to_apply, "add", 0), rg_json_int(to_apply, "change", 0),
			rg_json_int(to_apply, "destroy", 0));
	if (json_is_object(run)) {
		g_autofree char *when = rg_clock_format(rg_json_int(run, "started_s", 0));
		wrapf(text, style, "", "Last change: %s by %s on %s at %s, %s.",
			rg_json_str(run, "command", "?"), rg_json_str(run, "user", "?"),
			rg_json_str(run, "host", "?"), when,
			rg_json_str(run, "outcome", "not ended"));
	}
}

char *rg_render_status(const json_t *document, const RgStyle *style)
{
	GString *text = g_string_new(NULL);
	const json_t *findings = json_object_get(document, "findings");
	g_autoptr(GPtrArray) table =
		table_new("POOL,DESIRED,RUNNING,IN RAY,GPUS,GPUS IN RAY,TYPE,DRIVER");
	add_summary(text, document, style);
	rg_json_foreach (pool, json_object_get(document, "pools"))
		add_pool(table, pool);
	paint_table(text, table, &(TableLook){.numbers = 5}, style);
	g_string_append_c(text, '\n');
	rg_json_foreach (finding, findings)
		wrapf(text, style, "  ", "%s", rg_json_str(finding, "text", ""));
	if (json_array_size(findings))
		g_string_append(text, "\n`raygpu drift` shows more about them.\n");
	add_groups(text, json_object_get(document, "groups"), style);
	add_demand(text, json_object_get(document, "demand"), style);
	add_joining(text, document, style);
	add_notes(text, document, style);
	return text_finish(text, style);
}
