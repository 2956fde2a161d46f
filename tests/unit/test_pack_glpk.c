/* An error inside GLPK ends neither the process nor the question: the answer is not certain, and
 * the next question is answered as always. This program's glp_simplex (wrapped by the linker) fails
 * at a call that a test chooses. */
#include <glpk.h>
#include "pack/internal.h"

static unsigned calls_until_error;

int __real_glp_simplex(glp_prob *program, const glp_smcp *control);
int __wrap_glp_simplex(glp_prob *program, const glp_smcp *control);

int __wrap_glp_simplex(glp_prob *program, const glp_smcp *control)
{
	if (calls_until_error > 0 && --calls_until_error == 0)
		glp_add_rows(program, -1); /* what GLPK says about it ends the process */
	return __real_glp_simplex(program, control);
}

/* Six of 3 GPUs, and `pairs` of 2, on four nodes of 8: one pair fits beside two of the former. */
static GPtrArray *place(unsigned pairs, bool *sure)
{
	static const int64_t none[1] = {0};
	static const unsigned order[] = {0, 1};
	RgPlacePool pools[] = {{2, 8, 1, none}, {2, 8, 1, none}};
	RgPlaceNeed three[] = {{true, 3, 0}, {true, 3, 0}}, two[] = {{true, 2, 0}, {true, 2, 0}};
	RgPlacePart parts[] = {{1, three, none}, {1, two, none}};
	RgPlaceTask tasks[] = {{8, 1, &parts[0], RG_PLACE_PACK, RG_PLACE_ANY},
		{pairs, 1, &parts[1], RG_PLACE_PACK, RG_PLACE_ANY}};
	RgPlaceProblem problem = {pools, tasks, order, 2, 0, 2};
	RgItem items[] = {{.task = 0, .demand = 8, .per_unit = 1},
		{.task = 1, .demand = pairs, .per_unit = 1}};
	unsigned steps = 10000;
	GPtrArray *found = rg_place_branch(&problem, items, 2, &steps, sure);
	rg_bounds_release();
	return found;
}

static void check(unsigned pairs, bool fits)
{
	bool sure = false;
	g_autoptr(GPtrArray) found = place(pairs, &sure);
	g_assert_cmpint(found != NULL, ==, fits);
	g_assert_true(found || sure);
}

static void test_errors_leave_the_answer_open(void)
{
	for (unsigned calls = 1; calls < 6; calls++) {
		bool sure = true;
		calls_until_error = calls;
		g_autoptr(GPtrArray) found = place(5, &sure);
		if (calls_until_error == 0) {
			g_assert_null(found);
			g_assert_false(sure);
		}
		g_assert_true(calls > 1 || calls_until_error == 0);
		calls_until_error = 0;
		check(4, true);
		check(5, false);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/pack/glpk/error", test_errors_leave_the_answer_open);
	return g_test_run();
}
