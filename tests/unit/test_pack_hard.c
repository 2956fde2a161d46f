/* Placement that is hard to decide: clusters of 8 to 32 nodes that a random placement fills to the
 * brim, so the answer is known to be yes, and the same with one more unit. Many sizes of bundles,
 * several kinds of GPU, fractions of them, little memory, gangs that spread, labels. What fits must
 * never be refuted, and every answer must be certain. The steps are printed. With RAYGPU_LONG more
 * cases. */
#include <string.h>
#include "pack/place.h"
#include "pack/internal.h"

#define POOLS 5
#define TASKS 12
#define AMOUNTS 3 /* CPU, memory, a custom resource */
#define MOST_NODES 32

typedef struct {
	const char *name;
	unsigned pools, kinds, tasks;
	bool whole, parts;   /* bundles of whole GPUs, of fractions */
	bool memory, labels; /* memory is scarce; tasks run on some pools only */
	unsigned gangs;	     /* so many of the tasks are groups that spread */
	RgPlaceAlike alike;  /* of the gangs */
} Family;

static const Family families[] = {
	{"sizes", 1, 1, 10, true, false, false, false, 0, RG_PLACE_ANY},
	{"memory", 2, 1, 10, true, false, true, false, 0, RG_PLACE_ANY},
	{"gangs", 3, 3, 8, true, false, true, false, 4, RG_PLACE_ALL_ALIKE},
	{"groups", 4, 3, 8, true, false, true, true, 4, RG_PLACE_UNIT_ALIKE},
	{"fractions", 2, 1, 8, false, true, true, false, 0, RG_PLACE_ANY},
	{"mixed", 3, 2, 12, true, true, true, false, 0, RG_PLACE_ANY},
	{"labels", 5, 3, 12, true, true, true, true, 0, RG_PLACE_ANY},
	{"all", 5, 4, 12, true, true, true, true, 4, RG_PLACE_UNIT_ALIKE},
};

/* A problem with its own memory. */
typedef struct {
	RgPlaceProblem problem;
	RgPlacePool pools[POOLS];
	RgPlaceTask tasks[TASKS];
	RgPlacePart parts[TASKS];
	RgPlaceNeed needs[TASKS][POOLS];
	int64_t has[POOLS][AMOUNTS], takes[TASKS][AMOUNTS];
	unsigned order[POOLS], units[TASKS];
} Case;

static unsigned roll(GRand *rand, unsigned from, unsigned to)
{
	return (unsigned)g_rand_int_range(rand, (gint32)from, (gint32)to + 1);
}

static void make_pools(GRand *rand, Case *c, const Family *family, unsigned nodes)
{
	static const unsigned gpus[] = {8, 4, 8, 2, 4};
	unsigned left = nodes;
	for (unsigned p = 0; p < family->pools; p++) {
		unsigned share = left / (family->pools - p);
		c->pools[p] = (RgPlacePool){.nodes = p + 1 < family->pools ? share : left,
			.gpus = gpus[p],
			.kind = p % family->kinds + 1,
			.amounts = c->has[p]};
		left -= c->pools[p].nodes;
		c->has[p][0] = (int64_t)gpus[p] * 12;
		c->has[p][1] = (int64_t)gpus[p] * (family->memory ? 40 : 400);
		c->has[p][2] = p == 0 ? 2 : 0;
		c->order[p] = p;
	}
}

static void make_task(GRand *rand, Case *c, const Family *family, unsigned t)
{
	static const unsigned parts[] = {1000, 1250, 2000, 2500, 3000, 4000, 5000, 7500};
	bool gang = t < family->gangs;
	bool part = family->parts && !gang && (!family->whole || t % 2);
	unsigned gpus = gang ? roll(rand, 1, 4) : t % 3 == 0 ? roll(rand, 1, 2) : roll(rand, 1, 6);
	unsigned size = part ? parts[roll(rand, 0, G_N_ELEMENTS(parts) - 1)] : 0;
	for (unsigned p = 0; p < family->pools; p++)
		c->needs[t][p] = (RgPlaceNeed){
			!family->labels || roll(rand, 0, 2) > 0, part ? 0 : gpus, size};
	c->needs[t][t % family->pools].admitted = true;
	c->takes[t][0] = part ? roll(rand, 1, 4) : 2 * roll(rand, 1, 2 + 4 * gpus);
	c->takes[t][1] = 4 * roll(rand, 1, part ? 8 : 4 + 8 * gpus);
	c->takes[t][2] = !gang && roll(rand, 0, 9) == 0;
	c->parts[t] = (RgPlacePart){gang ? roll(rand, 2, 4) : 1, c->needs[t], c->takes[t]};
	c->tasks[t] = (RgPlaceTask){.n_parts = 1,
		.parts = &c->parts[t],
		.strategy = gang ? RG_PLACE_STRICT_SPREAD : RG_PLACE_PACK,
		.alike = gang ? family->alike : RG_PLACE_ANY};
}

/* Bundles of each task on one more node of the pool, at random until nothing fits any more. */
static void fill_node(GRand *rand, Case *c, RgNodeCheck *check, unsigned pool, unsigned *placed)
{
	unsigned n[TASKS] = {0}, misses = 0;
	while (misses < 3 * c->problem.n_tasks) {
		unsigned t = roll(rand, 0, c->problem.n_tasks - 1);
		bool spreads = c->tasks[t].strategy == RG_PLACE_STRICT_SPREAD;
		n[t]++;
		if ((spreads && n[t] > 1) || !rg_node_holds(check, pool, n)) {
			n[t]--;
			misses++;
		}
	}
	for (unsigned t = 0; t < c->problem.n_tasks; t++)
		placed[t * (POOLS + 1) + c->pools[pool].kind] += n[t];
}

/* Units that the random placement holds. */
static void plant(GRand *rand, Case *c)
{
	unsigned placed[TASKS * (POOLS + 1)] = {0};
	g_autofree RgItem *items = rg_place_all_parts(&c->problem);
	RgNodeCheck check;
	rg_node_check_init(&check, &c->problem, items, c->problem.n_tasks);
	for (unsigned p = 0; p < c->problem.n_pools; p++) {
		for (unsigned i = 0; i < c->pools[p].nodes; i++)
			fill_node(rand, c, &check, p, placed);
	}
	rg_node_check_clear(&check);
	for (unsigned t = 0; t < c->problem.n_tasks; t++) {
		const unsigned *on = &placed[t * (POOLS + 1)];
		unsigned sum = 0, most = 0, all = 0, bundles = c->parts[t].count;
		for (unsigned kind = 0; kind <= POOLS; kind++) {
			all += on[kind];
			sum += on[kind] / bundles;
			most = MAX(most, on[kind] / bundles);
		}
		c->units[t] = c->tasks[t].alike == RG_PLACE_ANY		? all / bundles
			      : c->tasks[t].alike == RG_PLACE_ALL_ALIKE ? most
									: sum;
		c->tasks[t].units = c->units[t];
	}
}

static void make_case(GRand *rand, Case *c, const Family *family, unsigned nodes)
{
	memset(c, 0, sizeof *c);
	make_pools(rand, c, family, nodes);
	c->problem = (RgPlaceProblem){.pools = c->pools,
		.tasks = c->tasks,
		.order = c->order,
		.n_pools = family->pools,
		.n_amounts = AMOUNTS,
		.n_tasks = family->tasks};
	for (unsigned t = 0; t < family->tasks; t++)
		make_task(rand, c, family, t);
	plant(rand, c);
}

typedef struct {
	unsigned asked, unsure, most_steps, fit;
	uint64_t steps;
	gint64 most_us;
} Seen;

static void ask(const Case *c, const unsigned *units, Seen *seen)
{
	RgPlaceProblem problem = c->problem;
	unsigned steps = UINT_MAX;
	bool sure;
	problem.steps = &steps;
	gint64 start = g_get_monotonic_time();
	bool fits = rg_place_fits(&problem, units, &sure);
	seen->most_us = MAX(seen->most_us, g_get_monotonic_time() - start);
	seen->asked++;
	seen->fit += fits;
	seen->unsure += !sure;
	seen->steps += UINT_MAX - steps;
	seen->most_steps = MAX(seen->most_steps, UINT_MAX - steps);
	if (!sure)
		g_test_message("case %u: not sure", seen->asked);
}

static bool is_long(void)
{
	const char *value = g_getenv("RAYGPU_LONG");
	return value && *value != '\0';
}

static void test_family(gconstpointer data)
{
	const Family *family = data;
	unsigned cases = is_long() ? 40 : 8;
	g_autoptr(GRand) rand = g_rand_new_with_seed((guint32)(31 + (family - families)));
	Seen full = {0}, more = {0};
	for (unsigned i = 0; i < cases; i++) {
		Case c;
		make_case(rand, &c, family, roll(rand, 8, MOST_NODES));
		ask(&c, c.units, &full);
		unsigned t = roll(rand, 0, family->tasks - 1);
		c.units[t]++;
		ask(&c, c.units, &more);
	}
	const Seen *both[] = {&full, &more};
	for (unsigned i = 0; i < 2; i++)
		g_test_message("%s%s: %u cases, %u fit, %u not sure; steps: %" G_GUINT64_FORMAT
			       " on average, %u at most; %.0f ms at most",
			family->name, i ? " + 1" : "", both[i]->asked, both[i]->fit,
			both[i]->unsure, both[i]->steps / cases, both[i]->most_steps,
			(double)both[i]->most_us / 1000);
	/* what a placement was made for is never said not to fit */
	g_assert_cmpuint(full.fit, ==, cases);
	g_assert_cmpuint(full.unsure + more.unsure, ==, 0);
}

/* With 33 to 200 nodes: what fits on them fits on more. */
static void test_more_nodes(gconstpointer data)
{
	const Family *family = data;
	unsigned cases = is_long() ? 40 : 3;
	g_autoptr(GRand) rand = g_rand_new_with_seed((guint32)(231 + (family - families)));
	Seen before = {0}, after = {0};
	for (unsigned k = 0; k < 2 * cases; k++) {
		static Case c;
		Case larger;
		if (k % 2 == 0)
			make_case(rand, &c, family, roll(rand, MOST_NODES + 1, 200));
		else
			c.units[roll(rand, 0, family->tasks - 1)]++;
		larger = c;
		larger.problem.pools = larger.pools;
		for (unsigned more = roll(rand, 1, 5); more > 0; more--)
			larger.pools[roll(rand, 0, family->pools - 1)].nodes++;
		unsigned fit = before.fit, still = after.fit;
		ask(&c, c.units, &before);
		ask(&larger, c.units, &after);
		g_assert_cmpuint(after.fit - still, >=, before.fit - fit);
	}
	g_test_message("%s: %u cases, %u fit, %u not sure; with more nodes %u fit, %u not sure",
		family->name, before.asked, before.fit, before.unsure, after.fit, after.unsure);
	/* what a placement was made for */
	g_assert_cmpuint(before.fit, >=, cases);
}

/* Items of a problem without groups. */
static RgItem *items_of(const Case *c)
{
	RgItem *items = rg_place_all_parts(&c->problem);
	for (unsigned i = 0; i < c->problem.n_tasks; i++) {
		const RgPlaceTask *task = &c->tasks[i];
		items[i].demand = c->units[i] * task->parts->count;
		items[i].per_unit = task->parts->count;
		if (task->strategy == RG_PLACE_STRICT_SPREAD) {
			items[i].most = c->units[i];
			items[i].sharing = i + 1;
		}
	}
	return items;
}

/* What a placement has, no more than each node holds. */
static void check_found(const Case *c, const RgItem *items, const GPtrArray *found)
{
	unsigned nodes[POOLS] = {0}, sums[TASKS] = {0};
	RgNodeCheck check;
	rg_node_check_init(&check, &c->problem, items, c->problem.n_tasks);
	for (guint k = 0; k < found->len; k++) {
		const RgPlacedNodes *placed = found->pdata[k];
		nodes[placed->pool] += placed->nodes;
		g_assert_true(rg_node_holds(&check, placed->pool, placed->bundles));
		for (unsigned i = 0; i < c->problem.n_tasks; i++)
			sums[i] += placed->nodes * placed->bundles[i];
	}
	rg_node_check_clear(&check);
	for (unsigned p = 0; p < c->problem.n_pools; p++)
		g_assert_cmpuint(nodes[p], <=, c->pools[p].nodes);
	for (unsigned i = 0; i < c->problem.n_tasks; i++)
		g_assert_cmpuint(sums[i], ==, items[i].demand);
}

/* Branch and bound alone against the complete search alone, which test_pack_place.c compares with
 * brute force, on clusters that both decide. */
static void test_branch(gconstpointer data)
{
	const Family *given = data;
	Family family = *given;
	unsigned cases = is_long() ? 600 : 16, both = 0, fit = 0, unfit = 0;
	g_autoptr(GRand) rand = g_rand_new_with_seed((guint32)(131 + (given - families)));
	family.alike = RG_PLACE_ANY;
	for (unsigned k = 0; k < 2 * cases; k++) {
		static Case c;
		if (k % 2 == 0)
			make_case(rand, &c, &family, roll(rand, family.pools, family.pools + 3));
		else
			c.units[roll(rand, 0, family.tasks - 1)]++;
		unsigned steps = 40000, more = 100000;
		bool sure, certain;
		g_autofree RgItem *items = items_of(&c);
		g_autoptr(GPtrArray) searched =
			rg_place_search(&c.problem, items, family.tasks, &steps, &sure);
		g_autoptr(GPtrArray) branched =
			rg_place_branch(&c.problem, items, family.tasks, &more, &certain);
		rg_bounds_release();
		if (searched)
			check_found(&c, items, searched);
		if (branched)
			check_found(&c, items, branched);
		if ((!searched && !sure) || (!branched && !certain))
			continue;
		g_assert_cmpint(searched != NULL, ==, branched != NULL);
		both++;
		fit += branched != NULL;
		unfit += !branched;
	}
	g_test_message("%s: %u of %u decided by both: %u fit, %u do not", family.name, both,
		2 * cases, fit, unfit);
	g_assert_cmpuint(both, >, cases);
	g_assert_cmpuint(fit, >, cases / 4);
	g_assert_cmpuint(unfit, >, cases / 20);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(families); i++) {
		g_autofree char *branch = g_strconcat("/pack/branch/", families[i].name, NULL);
		g_test_add_data_func(branch, &families[i], test_branch);
		g_autofree char *path = g_strconcat("/pack/hard/", families[i].name, NULL);
		g_test_add_data_func(path, &families[i], test_family);
		g_autofree char *more = g_strconcat("/pack/more/", families[i].name, NULL);
		g_test_add_data_func(more, &families[i], test_more_nodes);
	}
	return g_test_run();
}
