/* Whether groups that each have a part of what they need can wait for each other for ever. */
#include "pack/place.h"

bool rg_place_deadlock(
	const RgPlaceProblem *problem, const unsigned *gangs, size_t n, unsigned *held)
{
	g_autofree unsigned *units = g_new0(unsigned, problem->n_tasks + 1);
	bool moved = true, sure;
	unsigned holders = 0;
	while (moved) {
		moved = false;
		for (size_t i = 0; i < n; i++) {
			if (units[gangs[i]] + 1 >= problem->tasks[gangs[i]].units)
				continue;
			units[gangs[i]]++;
			bool fits = rg_place_fits(problem, units, &sure);
			units[gangs[i]] -= !fits;
			moved |= fits;
		}
	}
	for (size_t i = 0; i < n; i++) {
		held[i] = units[gangs[i]];
		holders += held[i] > 0;
		units[gangs[i]]++;
		bool ends = rg_place_fits(problem, units, &sure) || !sure;
		units[gangs[i]]--;
		if (ends)
			return false;
	}
	return holders > 1;
}
