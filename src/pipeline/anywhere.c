/* Carries out a plan where there is capacity: a cluster whose spec leaves a choice of places leaves
 * one that has none as a whole (move.c says when it may), and is planned and run in the next one.
 */
#include "pipeline/internal.h"
#include "base/clock.h"

#define WAIT_FIRST_MS 5000
#define WAIT_MAX_MS 300000
#define SLICE_MS 100 /* a signal is noticed after this time */

typedef struct {
	RgSession *session;
	const RgAnywhere *anywhere;
	const RgApplyOptions *options;
	const json_t *who;
	RgPass *pass;
	RgRun *run;
	RgDiags *diags;
	json_t *refused; /* array: RgApplyResult.tried of all places */
	json_t *avoid;	 /* places that had no capacity (RgSession.avoid) */
	int64_t end_ms, wait_ms;
} Hunt;

static bool is_interrupted(const Hunt *hunt)
{
	const RgApplyOptions *options = hunt->options;
	return options->interrupted && options->interrupted(options->interrupted_data) > 0;
}

/* What was refused in the places before this one is part of the report. */
static bool run_here(Hunt *hunt)
{
	RgApplyResult *result = &hunt->run->result;
	bool done = rg_pipeline_run(
		hunt->session, hunt->pass, hunt->options, hunt->who, hunt->run, hunt->diags);
	if (result->tried)
		json_array_extend(hunt->refused, result->tried);
	if (json_array_size(hunt->refused)) {
		json_decref(result->tried);
		result->tried = json_incref(hunt->refused);
	}
	return done;
}

/* Removes all that is recorded of the cluster, in a run of its own; true when nothing is left. */
static bool give_back(Hunt *hunt, const char *cluster)
{
	const RgDiffOptions kept = hunt->session->diff;
	RgApplyOptions options = *hunt->options;
	RgRun run = {0};
	json_auto_t *meta = hunt->who ? json_copy(rg_json_unconst(hunt->who)) : json_object();
	rg_json_set_str(meta, "command", PASS_MOVE);
	options.event = NULL; /* of a plan that nobody was shown */
	hunt->session->diff = (RgDiffOptions){.destroy = true};
	g_autoptr(RgPass) pass = rg_pipeline_plan_recorded(hunt->session, cluster, hunt->diags);
	bool done =
		pass && !pass->plan->errored &&
		(!rg_plan_has_changes(pass->plan) ||
			rg_pipeline_run(hunt->session, pass, &options, meta, &run, hunt->diags));
	hunt->session->diff = kept;
	rg_run_clear(&run);
	return done;
}

/* Nothing of the cluster stays where it can't be completed; false: it does. */
static bool leave_place(Hunt *hunt)
{
	const RgPlan *plan = hunt->pass->plan;
	g_autofree char *here = rg_place_text(plan->provider, plan->region);
	if (hunt->anywhere->leaves)
		hunt->anywhere->leaves(hunt->anywhere->data, here);
	rg_diags_clear(hunt->diags); /* each refusal has been reported as it came */
	rg_json_set_str(hunt->avoid, here, "no capacity for the cluster in this run");
	return give_back(hunt, plan->cluster);
}

/* false: there is nothing to carry out. */
static bool plan_elsewhere(Hunt *hunt)
{
	const RgAnywhere *anywhere = hunt->anywhere;
	const json_t *avoided = hunt->session->avoid;
	rg_run_clear(hunt->run);
	pass_begin_again(hunt->pass);
	hunt->session->avoid = hunt->avoid;
	bool planned = rg_pipeline_plan(hunt->session, hunt->pass, hunt->diags);
	hunt->session->avoid = avoided;
	if (!planned)
		return false;
	const RgPlan *plan = hunt->pass->plan;
	bool approved = !anywhere->approve || anywhere->approve(anywhere->data, hunt->pass);
	return approved && !plan->errored && !rg_diags_has_errors(hunt->diags) &&
	       rg_plan_has_changes(plan);
}

static bool has_no_place(const RgDiags *diags)
{
	return rg_diags_has_code(diags, "fit.no-place") || rg_diags_has_code(diags, "fit.no-stock");
}

/* Until all places are tried again; false when the time is over, or a signal came. */
static bool wait_for_capacity(Hunt *hunt)
{
	int64_t now = rg_clock_monotonic_ms();
	hunt->wait_ms = hunt->wait_ms ? MIN(2 * hunt->wait_ms, WAIT_MAX_MS) : WAIT_FIRST_MS;
	/* not all who wait for the same machines at the same time */
	int64_t wait = (int64_t)((double)hunt->wait_ms * g_random_double_range(0.8, 1.2));
	if (now >= hunt->end_ms)
		return false;
	int64_t until = MIN(now + wait, hunt->end_ms);
	if (hunt->anywhere->waits)
		hunt->anywhere->waits(hunt->anywhere->data, (until - now + 999) / 1000);
	while (!is_interrupted(hunt) && rg_clock_monotonic_ms() < until)
		g_usleep(SLICE_MS * 1000);
	return !is_interrupted(hunt);
}

/* Every place was tried: the cluster is nowhere. Those that had no capacity are in hunt->refused.
 */
static void report_nowhere(const Hunt *hunt, const char *cluster)
{
	g_autoptr(GString) tried = g_string_new("refused:");
	rg_json_foreach_at (i, entry, hunt->refused)
		g_string_append_printf(tried, "%s %s %s in %s (%s)", i ? "," : "",
			rg_json_str(entry, "market", ""), rg_json_str(entry, "instance_type", ""),
			rg_json_str(entry, "zone", ""), rg_json_str(entry, "code", ""));
	rg_json_foreach (row, json_object_get(hunt->pass->place, "candidates")) {
		g_autofree char *place = rg_place_text(
			rg_json_str(row, "provider", ""), rg_json_str(row, "region", NULL));
		if (!json_object_get(hunt->avoid, place))
			g_string_append_printf(
				tried, "\n%s: %s", place, rg_json_str(row, "rejected", ""));
	}
	RgDiag *diag = rg_diags_error(hunt->diags, "provider.capacity",
		"no place of provider.any_of has capacity for cluster %s; nothing of it is left",
		cluster);
	rg_diag_detail(diag, "%s", tried->str);
	rg_diag_hint(diag, "run apply again later, with --capacity-timeout to repeat it, or add a "
			   "place or an accelerator");
}

/* Gives the cluster back and plans it in the next place, as often as the time allows. false: it is
 * in none. */
static bool move_on(Hunt *hunt)
{
	g_autofree char *cluster = g_strdup(hunt->pass->plan->cluster);
	if (!leave_place(hunt))
		return false;
	while (!plan_elsewhere(hunt)) {
		if (!has_no_place(hunt->diags))
			return false;
		rg_diags_clear(hunt->diags);
		if (!wait_for_capacity(hunt)) {
			report_nowhere(hunt, cluster);
			return false;
		}
		json_object_clear(hunt->avoid);
	}
	return true;
}

bool rg_pipeline_run_anywhere(RgSession *session, RgPass *pass, const RgAnywhere *anywhere,
	const RgApplyOptions *options, const json_t *who, RgRun *run, RgDiags *diags)
{
	json_auto_t *refused = json_array(), *avoid = json_object();
	Hunt hunt = {.session = session,
		.anywhere = anywhere,
		.options = options,
		.who = who,
		.pass = pass,
		.run = run,
		.diags = diags,
		.refused = refused,
		.avoid = avoid,
		.end_ms = rg_clock_monotonic_ms() + options->capacity_ms};
	for (;;) {
		bool done = run_here(&hunt);
		if (!run->moves || is_interrupted(&hunt))
			return done;
		if (move_on(&hunt))
			continue;
		run->unplaced = true;
		run->outcome = is_interrupted(&hunt) ? "interrupted" : "failed";
		return false;
	}
}
