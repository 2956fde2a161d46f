#include "apply/internal.h"
#include "base/clock.h"

/* What the cloud has under a token whose request cannot be sent again, or was refused for a reason
 * that says nothing about the first attempt. What is seen is believed at once. Absence is believed
 * if the read began consistency_s after the last possible request. The age of the row does not show
 * when that was (a run that was killed a second ago may have replayed it), but the lock does: since
 * this run first asked, nobody else has sent it. */

#define LOOK_FIRST_MS 1000
#define LOOK_MAX_MS 5000
/* A call may continue sending for this long after its row was opened or its replay was allowed:
 * retries, waits for its dependencies. */
#define SENDING_MAX_S 900

static int64_t age_s(const Recovery *recovery)
{
	return rg_clock_now_s() - recovery->row->started_s;
}

bool search_only(const Recovery *recovery)
{
	return recovery->kind && age_s(recovery) >= recovery->kind->replay_s;
}

/* Nobody can have replayed it recently. */
static bool is_long_over(const Recovery *recovery)
{
	const RgKind *kind = recovery->kind;
	return age_s(recovery) >
	       kind->replay_s + SENDING_MAX_S + rg_provider_consistency_s(recovery->provider, kind);
}

static int64_t proof_ms(const Recovery *recovery)
{
	return recovery->asked_ms +
	       rg_provider_consistency_s(recovery->provider, recovery->kind) * 1000;
}

static bool absence_counts(const Job *job)
{
	return is_long_over(job->recovery) || job->started_ms >= proof_ms(job->recovery);
}

void search_plan(Recovery *recovery)
{
	int64_t now = rg_clock_monotonic_ms(), proof = proof_ms(recovery);
	recovery->wait_ms =
		recovery->wait_ms ? MIN(2 * recovery->wait_ms, LOOK_MAX_MS) : LOOK_FIRST_MS;
	/* one read once it is proof, so that nobody waits longer than needed */
	recovery->look_ms = now + recovery->wait_ms;
	if (now < proof && recovery->look_ms > proof)
		recovery->look_ms = proof;
}

/* Position of an address among the items of the whole batch, -1 if it is not among them. */
static ssize_t place_of(const Recovery *recovery, const char *address)
{
	const json_t *items = json_object_get(recovery->row->input, "items");
	for (size_t i = 0; address && i < json_array_size(items); i++) {
		if (g_str_equal(rg_json_str(json_array_get(items, i), "address", ""), address))
			return (ssize_t)i;
	}
	return -1;
}

/* What exists says more than what may exist, and that more than what has ended. */
static int weight(const RgResource *seen)
{
	return seen->presence == RG_PRESENT ? 2 : seen->presence == RG_UNKNOWN ? 1 : 0;
}

/* The resource of a member: by its address, else by its position if the whole batch is visible. */
static const RgResource *seen_of(const Job *job, const char *address, bool *unplaced)
{
	const RgResource *match = NULL;
	const json_t *items = json_object_get(job->recovery->row->input, "items");
	*unplaced = false;
	rg_ptr_foreach (const RgResource, seen, job->found) {
		if (g_strcmp0(seen->address, address) == 0 &&
			(!match || weight(seen) > weight(match)))
			match = seen;
		/* A resource under our token that cannot be matched to a member. */
		*unplaced |= weight(seen) && place_of(job->recovery, seen->address) < 0;
	}
	if (match || !*unplaced || job->found->len != json_array_size(items))
		return match;
	const RgResource *there = job->found->pdata[place_of(job->recovery, address)];
	return place_of(job->recovery, there->address) < 0 ? there : NULL;
}

/* It exists, or has existed: nobody knows which. */
static Fate unreadable(const Job *job, const RgResource *seen)
{
	g_free(job->recovery->reason);
	job->recovery->reason = rg_resource_unread(seen, seen->id);
	return FATE_OPEN;
}

Fate search_fate(const Job *job, const json_t *member, RgMemberOutcome *outcome)
{
	bool unplaced = false;
	const char *address = rg_json_str(member, "address", "");
	const RgResource *seen =
		place_of(job->recovery, address) < 0 ? NULL : seen_of(job, address, &unplaced);
	*outcome = (RgMemberOutcome){.address = address};
	if (seen && seen->presence == RG_PRESENT) {
		outcome->created = true;
		outcome->id = seen->id;
		outcome->outputs = seen->attrs;
		return FATE_MADE;
	}
	if (seen && seen->presence == RG_UNKNOWN)
		return unreadable(job, seen);
	if (!job->found_all)
		return FATE_OPEN;
	if (seen)
		return FATE_NOT_MADE; /* it existed, and has ended */
	if (!absence_counts(job))
		return FATE_SEARCH;
	return unplaced ? FATE_OPEN : FATE_NOT_MADE;
}
