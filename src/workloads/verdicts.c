#include <string.h>
#include "workloads/judge.h"

uint64_t rg_judge_together(const RgJudge *judge, unsigned task)
{
	const RgWorkload *workload = rg_demand_workload(judge->demand, task);
	/* units of a gang that is placed whole count as one; people count replicas */
	return judge->placed->units[task] *
	       (rg_demand_is_packed(workload) ? workload->replicas : 1);
}

bool rg_judge_reports(const RgJudge *judge, unsigned task)
{
	return !judge->only ||
	       g_str_equal(rg_demand_workload(judge->demand, task)->name, judge->only);
}

static bool takes_part(const RgJudge *judge, unsigned task, unsigned part, unsigned pool)
{
	return judge->problem->tasks[task].parts[part].on[pool].admitted &&
	       judge->problem->pools[pool].nodes > 0;
}

bool rg_judge_can_take(const RgJudge *judge, unsigned task, unsigned pool)
{
	for (unsigned i = 0; i < judge->problem->tasks[task].n_parts; i++) {
		if (takes_part(judge, task, i, pool))
			return true;
	}
	return false;
}

/* Whether each of its bundles can run. */
static bool runs_somewhere(const RgJudge *judge, unsigned task)
{
	for (unsigned i = 0; i < judge->problem->tasks[task].n_parts; i++) {
		bool any = false;
		for (unsigned p = 0; p < judge->problem->n_pools; p++)
			any |= takes_part(judge, task, i, p);
		if (!any)
			return false;
	}
	return true;
}

static const char *pool_name(const RgJudge *judge, unsigned pool)
{
	return rg_demand_shape(judge->demand, pool)->pool->name;
}

/* ---- never */

static char *why_not(const RgJudge *judge, unsigned task)
{
	g_autoptr(GString) text = g_string_new(NULL);
	for (unsigned p = 0; p < judge->problem->n_pools; p++) {
		const char *why = rg_demand_why(judge->demand, task, p);
		if (why && !g_str_equal(why, "not named by pool"))
			g_string_append_printf(text, "%s%s: %s", text->len > 0 ? "\n" : "",
				pool_name(judge, p), why);
	}
	return g_strdup(text->str);
}

/* The bundle that needs most memory of a GPU; NULL: none says how much. */
static const RgBundle *hungriest(const RgWorkload *workload)
{
	const RgBundle *most = NULL;
	rg_ptr_foreach (const RgBundle, bundle, workload->bundles)
		if (bundle->gpu_memory_gb > (most ? most->gpu_memory_gb : 0))
			most = bundle;
	return most;
}

static bool is_mixed(const RgShape *shape)
{
	g_autofree char *slice = rg_fit_slice_word(shape);
	return g_strcmp0(slice, "mixed") == 0;
}

/* No GPU of the cluster has the memory: that is the only reason to show. */
static RgDiag *report_memory(const RgJudge *judge, const RgWorkload *workload)
{
	const RgBundle *bundle = hungriest(workload);
	const RgShape *largest = NULL;
	bool mixed = false;
	for (unsigned p = 0; p < judge->problem->n_pools; p++) {
		const RgShape *shape = rg_demand_shape(judge->demand, p);
		mixed |= is_mixed(shape);
		if (shape->type->gpu &&
			(!largest || rg_fit_gpu_memory_gb(shape) > rg_fit_gpu_memory_gb(largest)))
			largest = shape;
	}
	if (!bundle || !largest || bundle->gpu_memory_gb <= rg_fit_gpu_memory_gb(largest))
		return NULL;
	RgDiag *diag = rg_diags_error(judge->diags, "fit.never",
		"workload %s needs %g GB on one GPU; the largest%s in the cluster is %u GB "
		"(%s%s, pool %s)",
		workload->name, bundle->gpu_memory_gb, mixed ? " that Ray can select" : "",
		rg_fit_gpu_memory_gb(largest), largest->slices ? "a slice of " : "",
		largest->type->gpu->name, largest->pool->name);
	if (mixed)
		rg_diag_detail(diag, "Ray cannot distinguish the slices of a node, so the smallest "
				     "one counts; give each MIG profile a pool of its own");
	return rg_diag_at(diag, bundle->gpu_memory_source);
}

static RgDiag *report_never(const RgJudge *judge, unsigned task)
{
	const RgWorkload *workload = rg_demand_workload(judge->demand, task);
	RgDiag *diag = report_memory(judge, workload);
	if (diag)
		return diag;
	g_autofree char *why = why_not(judge, task);
	diag = rg_diags_error(judge->diags, "fit.never", "workload %s cannot run on any %s",
		workload->name, workload->pools ? "pool that it names" : "pool");
	rg_diag_at(diag, workload->source);
	if (*why != '\0')
		rg_diag_detail(diag, "%s", why);
	return diag;
}

/* ---- gangs */

static bool is_alike(const RgJudge *judge, unsigned task)
{
	return judge->problem->tasks[task].alike != RG_PLACE_ANY;
}

/* The most nodes that can take a bundle; of one kind of GPU if they must be alike. */
static uint64_t most_nodes(const RgJudge *judge, unsigned task)
{
	const RgPlacePool *pools = judge->problem->pools;
	uint64_t most = 0;
	for (unsigned p = 0; p < judge->problem->n_pools; p++) {
		uint64_t nodes = 0;
		for (unsigned q = 0; q < judge->problem->n_pools; q++) {
			bool counts = !is_alike(judge, task) || pools[q].kind == pools[p].kind;
			if (counts && rg_judge_can_take(judge, task, q))
				nodes += pools[q].nodes;
		}
		most = MAX(most, nodes);
	}
	return most;
}

static RgDiag *report_gang(const RgJudge *judge, unsigned task, uint64_t alone)
{
	const RgWorkload *workload = rg_demand_workload(judge->demand, task);
	const char *on = is_alike(judge, task) ? " on GPUs of one model" : "";
	RgDiag *diag;
	if (alone == 0 && workload->nodes > 0)
		diag = rg_diags_error(judge->diags, "fit.gang-too-large",
			"workload %s spans %u nodes at once; at most %" G_GUINT64_FORMAT " fit%s",
			workload->name, workload->nodes, most_nodes(judge, task), on);
	else if (alone == 0)
		diag = rg_diags_error(judge->diags, "fit.gang-too-large",
			"workload %s: its %u bundles do not fit at once%s", workload->name,
			rg_place_bundles(&judge->problem->tasks[task]), on);
	else
		diag = rg_diags_error(judge->diags, "fit.gang-too-large",
			"workload %s needs all of its %u replicas at once; at most "
			"%" G_GUINT64_FORMAT " fit%s",
			workload->name, workload->replicas, alone, on);
	return rg_diag_at(diag, workload->source);
}

void rg_judge_mixed(const RgJudge *judge, unsigned task)
{
	const RgWorkload *workload = rg_demand_workload(judge->demand, task);
	unsigned first = 0;
	bool several = false;
	for (unsigned p = 0; p < judge->problem->n_pools; p++) {
		unsigned kind = judge->problem->pools[p].kind;
		if (kind == 0 || !rg_judge_can_take(judge, task, p))
			continue;
		several |= first > 0 && kind != first;
		first = first > 0 ? first : kind;
	}
	if (workload->same_gpu || !several)
		return;
	RgDiag *diag = rg_diags_warning(judge->diags, "fit.mixed-gpus",
		"workload %s may run on GPUs of different models at once", workload->name);
	rg_diag_at(diag, workload->same_gpu_source);
	rg_diag_detail(diag, "a group that works in step is as fast as its slowest GPU");
	rg_diag_hint(diag, "remove `same_gpu: false`, or select a model with `accelerators`");
}

void rg_judge_nvlink(const RgJudge *judge, unsigned task)
{
	const RgWorkload *workload = rg_demand_workload(judge->demand, task);
	unsigned nodes = judge->start->nodes[task];
	unsigned fewest = rg_start_leaves_nvlink(judge->start, judge->demand, judge->placed, task);
	if (fewest == 0)
		return;
	RgDiag *diag = rg_diags_warning(judge->diags, "fit.leaves-nvlink",
		"workload %s: the GPUs of a group are on %u nodes instead of %u", workload->name,
		nodes, fewest);
	rg_diag_at(diag, workload->source);
	rg_diag_detail(diag, "NVLink connects the GPUs of one node only; between nodes, the group "
			     "communicates over the network");
	rg_diag_hint(diag, "select a pool with `pool`, or add nodes with more GPUs to it");
}

/* "p0 or p1": where Ray may put it although it must not run there; NULL: nowhere. */
static char *strays_to(const RgJudge *judge, unsigned task)
{
	g_autoptr(GString) pools = g_string_new(NULL);
	g_autofree bool *strays = rg_start_strays(judge->start, judge->demand, task);
	for (unsigned p = 0; p < judge->problem->n_pools; p++) {
		if (strays[p])
			g_string_append_printf(pools, "%s%s", pools->len > 0 ? " or " : "",
				rg_demand_shape(judge->demand, p)->pool->name);
	}
	return pools->len > 0 ? g_strdup(pools->str) : NULL;
}

void rg_judge_strays(const RgJudge *judge, unsigned task)
{
	const RgWorkload *workload = rg_demand_workload(judge->demand, task);
	const RgCompat *compat = judge->demand->shapes->compat;
	const char *version = judge->demand->cluster->ray.version;
	g_autofree char *pools = strays_to(judge, task);
	bool none = !rg_compat_has_option(compat, "task", "label_selector", version);
	bool packed = workload->strategy == RG_STRATEGY_STRICT_PACK || judge->start->form.apart;
	if (!pools)
		return;
	RgDiag *diag = rg_diags_warning(judge->diags, "fit.strays",
		"Ray %s may place workload %s on pool %s", version, workload->name, pools);
	rg_diag_at(diag, workload->source);
	rg_diag_detail(diag, "%s",
		none ? "this release has no label selectors"
		     : "this release ignores the label selectors of STRICT_PACK groups");
	rg_diag_hint(diag,
		"use Ray %s or later, or give the right pools a custom resource that the workload "
		"requests",
		packed ? rg_compat_option_from(compat, "strict_pack", "bundle_label_selector")
		       : rg_compat_option_from(compat, "task", "label_selector"));
}

static void report_deadlock(
	const RgJudge *judge, const unsigned *gangs, const unsigned *held, size_t n)
{
	g_autoptr(GString) names = g_string_new(NULL);
	g_autoptr(GString) parts = g_string_new(NULL);
	size_t left = 0;
	for (size_t i = 0; i < n; i++)
		left += held[i] > 0;
	const RgWorkload *last = rg_demand_workload(judge->demand, gangs[0]);
	for (size_t i = 0; i < n; i++) {
		const RgWorkload *workload = rg_demand_workload(judge->demand, gangs[i]);
		if (held[i] == 0)
			continue;
		left--;
		g_string_append_printf(names, "%s%s",
			names->len == 0 ? ""
			: left > 0	? ", "
					: " and ",
			workload->name);
		g_string_append_printf(parts, "%s%s can hold %u of its %u replicas",
			parts->len > 0 ? ", " : "", workload->name, held[i], workload->replicas);
		last = workload;
	}
	RgDiag *diag = rg_diags_error(
		judge->diags, "fit.deadlock", "gangs %s fit alone, but not together", names->str);
	rg_diag_at(diag, last->source);
	rg_diag_detail(
		diag, "%s: each then waits for the others, and none can proceed", parts->str);
	rg_diag_hint(diag, "add nodes, or remove `gang` from one that can wait");
}

/* Only a gang of several placement groups can hold some and wait for the rest. */
void rg_judge_gangs(const RgJudge *judge)
{
	const RgPlaceProblem *problem = judge->problem;
	g_autofree unsigned *gangs = g_new0(unsigned, problem->n_tasks + 1);
	g_autofree unsigned *held = g_new0(unsigned, problem->n_tasks + 1);
	size_t n = 0;
	if (judge->placed->all)
		return;
	for (unsigned t = 0; t < problem->n_tasks; t++) {
		if (rg_demand_workload(judge->demand, t)->gang && problem->tasks[t].units > 1 &&
			rg_place_alone(problem, t) >= problem->tasks[t].units)
			gangs[n++] = t;
	}
	bool reported = false;
	bool stuck = n > 1 && rg_place_deadlock(problem, gangs, n, held);
	for (size_t i = 0; stuck && i < n; i++)
		reported |= held[i] > 0 && rg_judge_reports(judge, gangs[i]);
	if (reported)
		report_deadlock(judge, gangs, held, n);
}

/* ---- short and contended */

/* Where something else than GPUs is the limit. */
static char *why_short(const RgJudge *judge, unsigned task)
{
	g_autoptr(GString) text = g_string_new(NULL);
	for (unsigned p = 0; p < judge->problem->n_pools; p++) {
		g_autofree char *binds = rg_demand_binds(judge->demand, task, 0, p);
		uint64_t gpus = rg_demand_gpu_room(judge->demand, task, 0, p);
		if (gpus == 0 || !binds || g_str_equal(binds, "GPU") ||
			!takes_part(judge, task, 0, p))
			continue;
		g_string_append_printf(text,
			"%s%s: the %s of a node is enough for %" G_GUINT64_FORMAT
			", its GPUs for %" G_GUINT64_FORMAT,
			text->len > 0 ? "\n" : "", pool_name(judge, p), binds,
			rg_place_per_node(judge->problem, task, 0, p), gpus);
	}
	return text->len > 0 ? g_strdup(text->str) : NULL;
}

static RgDiag *report_short(const RgJudge *judge, unsigned task, uint64_t alone)
{
	const RgWorkload *workload = rg_demand_workload(judge->demand, task);
	g_autofree char *why = why_short(judge, task);
	RgDiag *diag = rg_diags_warning(judge->diags, "fit.short",
		"workload %s: %" G_GUINT64_FORMAT " of %u replicas fit at once", workload->name,
		alone, workload->replicas);
	rg_diag_at(diag, workload->source);
	if (why)
		rg_diag_detail(diag, "%s", why);
	return diag;
}

static RgDiag *report_contended(const RgJudge *judge, unsigned task)
{
	const RgWorkload *workload = rg_demand_workload(judge->demand, task);
	bool whole = workload->gang && judge->problem->tasks[task].units == 1;
	RgDiag *diag;
	if (whole)
		diag = rg_diags_warning(judge->diags, "fit.contended",
			"gang %s fits alone, but not beside the other workloads", workload->name);
	else if (rg_judge_together(judge, task) == 0 && workload->replicas > 1)
		diag = rg_diags_warning(judge->diags, "fit.contended",
			"workload %s fits alone, but none of its %u replicas beside the other "
			"workloads",
			workload->name, workload->replicas);
	else if (workload->replicas == 1)
		diag = rg_diags_warning(judge->diags, "fit.contended",
			"workload %s fits alone, but not beside the other workloads",
			workload->name);
	else
		diag = rg_diags_warning(judge->diags, "fit.contended",
			"workload %s fits alone, but only %" G_GUINT64_FORMAT
			" of %u replicas beside the other workloads",
			workload->name, rg_judge_together(judge, task), workload->replicas);
	rg_diag_at(diag, workload->source);
	if (whole)
		rg_diag_detail(diag, "Ray reserves its placement group as a whole or not at all: "
				     "it waits until enough of the others have ended");
	return diag;
}

/* Neither a placement nor a proof that there is none was found. */
static RgDiag *report_undecided(const RgJudge *judge, unsigned task)
{
	const RgWorkload *workload = rg_demand_workload(judge->demand, task);
	RgDiag *diag = rg_diags_warning(judge->diags, "fit.undecided",
		"workload %s: not decided whether all %u replicas fit; %" G_GUINT64_FORMAT
		" were placed",
		workload->name, workload->replicas, rg_judge_together(judge, task));
	rg_diag_at(diag, workload->source);
	rg_diag_detail(diag, "the search ended at its limit; a placement may exist that it did "
			     "not find");
	return diag;
}

/* ---- what the spec could ask for instead */

/* Whether all that a node of the pool lacks for the bundles is of that field. */
static bool lacks_only(const RgJudge *judge, unsigned task, unsigned pool, const char *what)
{
	bool any = false;
	for (unsigned i = 0; i < judge->problem->tasks[task].n_parts; i++) {
		json_auto_t *lacks = rg_demand_lacks(judge->demand, task, i, pool);
		any |= json_array_size(lacks) > 0;
		rg_json_foreach (lack, lacks) {
			if (!g_str_equal(rg_json_str(lack, "what", ""), what))
				return false;
		}
	}
	return any && judge->problem->pools[pool].nodes > 0;
}

/* `accelerators` with the GPU of a pool that has a longer name: A100 is not A100-80GB. */
static char *name_hint(const RgJudge *judge, unsigned task)
{
	const RgWorkload *workload = rg_demand_workload(judge->demand, task);
	for (unsigned p = 0; workload->models && p < judge->problem->n_pools; p++) {
		const RgGpuModel *gpu = rg_demand_shape(judge->demand, p)->type->gpu;
		bool alike = false;
		if (!gpu || !lacks_only(judge, task, p, "accelerators"))
			continue;
		for (guint i = 0; workload->models[i] && !alike; i++) {
			size_t len = strlen(workload->models[i]);
			alike = g_ascii_strncasecmp(gpu->name, workload->models[i], len) == 0 &&
				gpu->name[len] == '-';
		}
		g_autofree char *models = g_strjoinv(", ", workload->models);
		if (alike)
			return g_strdup_printf(
				"write `accelerators: [%s, %s]` to run it on pool %s", models,
				gpu->name, pool_name(judge, p));
	}
	return NULL;
}

/* More GPUs than a node has: a task cannot use those of another node, a placement group can. */
static char *group_hint(const RgJudge *judge, unsigned task)
{
	const RgWorkload *workload = rg_demand_workload(judge->demand, task);
	const RgBundle *bundle = workload->bundles->pdata[0];
	unsigned gpus = (unsigned)bundle->gpus, most = 0;
	for (unsigned p = 0; p < judge->problem->n_pools; p++) {
		if (lacks_only(judge, task, p, "gpus") && judge->problem->pools[p].gpus > most &&
			!rg_demand_shape(judge->demand, p)->slices)
			most = judge->problem->pools[p].gpus;
	}
	if (most == 0 || gpus <= most || workload->has_bundles || workload->nodes > 0)
		return NULL;
	g_autofree char *nodes =
		gpus % most == 0
			? g_strdup_printf("`nodes: %u` with `gpus: %u`, or ", gpus / most, most)
			: g_strdup("");
	return g_strdup_printf(
		"one task uses GPUs of one node; for several nodes write %s`bundles: "
		"[{gpus: 1, count: %u}]`",
		nodes, gpus);
}

/* ---- all */

/* What needs no other nodes comes first. */
static void add_hint(const RgJudge *judge, unsigned task, RgDiag *diag, const json_t *remedy)
{
	g_autofree char *name = name_hint(judge, task);
	g_autofree char *group = name ? NULL : group_hint(judge, task);
	g_autofree char *text = remedy && !name ? rg_fit_remedy_text(remedy) : NULL;
	const char *own = name ? name : group;
	if (own || text)
		rg_diag_hint(diag, "%s%s%s", own ? own : "", own && text ? "; or " : "",
			text ? text : "");
}

const char *rg_judge_verdict(
	const RgJudge *judge, unsigned task, RgAlone given, const json_t *remedy)
{
	const RgWorkload *workload = rg_demand_workload(judge->demand, task);
	RgDiag *diag = NULL;
	const char *verdict = "fits";
	uint64_t alone = given.replicas, together = rg_judge_together(judge, task);
	bool sure = alone < workload->replicas ? given.sure : judge->placed->sure[task];
	if (alone == 0 && !runs_somewhere(judge, task)) {
		verdict = "never";
		diag = report_never(judge, task);
	} else if (together < workload->replicas && !sure) {
		verdict = "undecided";
		diag = report_undecided(judge, task);
	} else if (alone == 0 || (workload->gang && alone < workload->replicas)) {
		verdict = "never";
		diag = report_gang(judge, task, alone);
	} else if (alone < workload->replicas) {
		verdict = "short";
		diag = report_short(judge, task, alone);
	} else if (together < workload->replicas) {
		verdict = "contended";
		diag = report_contended(judge, task);
	}
	if (diag)
		add_hint(judge, task, diag, remedy);
	return verdict;
}
