/* Reserved capacity that a pool names: what it is leaves no choice of type and zone. Its facts are
 * those of the provider's `resolve` (provider.h). */
#include "fit/reservation.h"
#include "base/clock.h"
#include <string.h>
#include "fit/internal.h"

#define SOON_S (7 * 24 * 3600)

const char *rg_fit_market_word(const RgShape *shape)
{
	return rg_pool_market_word(shape->pool, shape->is_spot);
}

bool rg_fit_admits_zone(const RgShape *shape, const char *zone)
{
	const RgPool *pool = shape->pool;
	const char *reserved = rg_json_str(shape->reservation, "zone", NULL);
	return (!reserved || g_str_equal(reserved, zone)) &&
	       (!pool->zones || g_strv_contains((const char *const *)pool->zones, zone));
}

/* ---- several of one id, in several zones */

/* NULL after the last. */
static const json_t *nth(const json_t *fact, size_t i)
{
	return i == 0 ? fact : json_array_get(json_object_get(fact, "others"), i - 1);
}

static bool lists_zone(const RgPool *pool, const json_t *fact)
{
	return !pool->zones ||
	       g_strv_contains((const char *const *)pool->zones, rg_json_str(fact, "zone", ""));
}

const json_t *rg_fit_reservation_of(const json_t *fact, const RgPool *pool)
{
	const json_t *one, *found = NULL;
	for (size_t i = 0; (one = nth(fact, i)); i++) {
		if (!lists_zone(pool, one))
			continue;
		if (found)
			return NULL;
		found = one;
	}
	return found ? found : fact;
}

const json_t *rg_fit_reservation_in(const json_t *fact, const char *zone)
{
	const json_t *one = NULL;
	for (size_t i = 0; (one = nth(fact, i)); i++)
		if (g_str_equal(rg_json_str(one, "zone", ""), zone))
			break;
	return one;
}

/* ---- before the plan: is it what the pool asks for? */

static void report_several(const RgPool *pool, const json_t *fact, RgDiags *diags)
{
	g_autoptr(GString) zones = g_string_new(NULL);
	const json_t *one;
	for (size_t i = 0; (one = nth(fact, i)); i++)
		if (lists_zone(pool, one))
			g_string_append_printf(zones, "%s%s", zones->len ? " and " : "",
				rg_json_str(one, "zone", ""));
	RgDiag *diag = rg_diags_error(diags, "fit.no-reservation",
		"reservation %s cannot be used by pool %s: %s have one of this name",
		pool->market.reservation, pool->name, zones->str);
	rg_diag_at(diag, pool->market.source);
	rg_diag_hint(diag, "list one zone in `zones`");
}

static bool is_there(const RgPool *pool, const json_t *facts, RgDiags *diags)
{
	const char *id = pool->market.reservation, *why = rg_json_str(facts, "refused", NULL);
	if (facts && !why)
		return true;
	RgDiag *diag;
	if (facts)
		diag = rg_diags_error(diags, "fit.no-reservation",
			"reservation %s cannot be used by pool %s: %s", id, pool->name, why);
	else
		diag = rg_diags_error(
			diags, "fit.no-reservation", "there is no reservation %s", id);
	rg_diag_at(diag, pool->market.source);
	if (!facts)
		rg_diag_hint(diag, "the ids of reservations differ between regions and accounts");
	return false;
}

static void mismatch(RgDiags *diags, RgSource at, const char *hint, const char *format, ...)
	G_GNUC_PRINTF(4, 5);

static void mismatch(RgDiags *diags, RgSource at, const char *hint, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *summary = g_strdup_vprintf(format, args);
	va_end(args);
	RgDiag *diag = rg_diags_error(diags, "fit.reservation-mismatch", "%s", summary);
	rg_diag_at(diag, at);
	rg_diag_hint(diag, "%s", hint);
}

static bool fits_type(const RgShapes *shapes, RgShape *shape, const RgWish *wish,
	const RgInstanceType *type, RgDiags *diags)
{
	static const char hint[] = "change the pool, or name another reservation";
	const RgPool *pool = shape->pool;
	const char *id = pool->market.reservation;
	if (pool->instance_type && !g_str_equal(pool->instance_type, type->name)) {
		mismatch(diags, pool->shape_source, hint, "reservation %s is of %s, not of %s", id,
			type->name, pool->instance_type);
		return false;
	}
	RgVerdict verdict = {0};
	if (pool->instance_type)
		verdict.why = rg_offers_reject_network(wish, type);
	else
		verdict = rg_offers_judge(wish, rg_catalog_get_gpus(shapes->catalog), type);
	g_autofree char *why = verdict.why;
	shape->preference = verdict.preference;
	if (why)
		mismatch(diags, pool->shape_source, hint,
			"reservation %s is of %s, which does not fit pool %s: %s", id, type->name,
			pool->name, why);
	return !why;
}

static bool fits_zones(const RgShape *shape, RgDiags *diags)
{
	const RgPool *pool = shape->pool;
	const char *zone = rg_json_str(shape->reservation, "zone", "");
	if (rg_fit_admits_zone(shape, zone))
		return true;
	g_autofree char *listed = g_strjoinv(", ", pool->zones);
	mismatch(diags, pool->zones_source, "remove `zones`: the reservation decides the zone",
		"reservation %s is in %s, not in %s", pool->market.reservation, zone, listed);
	return false;
}

const RgInstanceType *rg_fit_reserved_type(
	const RgShapes *shapes, RgShape *shape, const RgWish *wish, RgDiags *diags)
{
	const RgPool *pool = shape->pool;
	const json_t *fact = json_object_get(shapes->reservations, pool->market.reservation);
	const json_t *facts = json_is_object(fact) ? rg_fit_reservation_of(fact, pool) : NULL;
	if (json_is_object(fact) && !facts) {
		report_several(pool, fact, diags);
		return NULL;
	}
	if (!is_there(pool, facts, diags))
		return NULL;
	shape->reservation = facts;
	const char *name = rg_json_str(facts, "instance_type", "");
	const RgInstanceType *type = rg_catalog_find_type(shapes->catalog, name);
	if (!type)
		mismatch(diags, pool->market.source,
			"add the type in raygpu.yaml, or name another reservation",
			"reservation %s is of %s, which is not in the catalog",
			pool->market.reservation, name);
	bool fits = type && fits_type(shapes, shape, wish, type, diags);
	return fits_zones(shape, diags) && fits ? type : NULL;
}

/* ---- with the plan: does it have room, and for how long? */

/* One reservation, and the pools that use it. */
typedef struct {
	const RgReservationInput *input;
	const char *id;
	const json_t *facts;
	GString *pools; /* "train, tune" */
	RgSource source;
	int64_t nodes, made, freed, replaced;
} Use;

static void add_use(Use *use, const char *pool, const json_t *counts, RgSource source)
{
	if (!use->pools->len)
		use->source = source;
	g_string_append_printf(use->pools, "%s%s", use->pools->len ? ", " : "", pool);
	use->nodes += rg_json_int(counts, "nodes", 0);
	use->made += rg_json_int(counts, "made", 0);
	use->freed += rg_json_int(counts, "freed", 0);
	use->replaced += rg_json_int(counts, "replaced", 0);
}

static RgDiag *say(const Use *use, RgDiag *diag)
{
	return rg_diag_at(diag, use->source);
}

static char *when(const Use *use, const char *member)
{
	return rg_clock_format(rg_json_int(use->facts, member, 0));
}

static bool is_state(const Use *use, const char *state)
{
	return g_str_equal(rg_json_str(use->facts, "state", ""), state);
}

/* "ended at 2026-11-28T11:30:00Z", "is cancelled" */
static char *over_text(const Use *use)
{
	int64_t end = rg_json_int(use->facts, "end_s", 0);
	if (!end || end > use->input->now_s)
		return g_strdup_printf("is %s", rg_json_str(use->facts, "status", "?"));
	g_autofree char *at = when(use, "end_s");
	return g_strdup_printf("ended at %s", at);
}

static bool check_over(const Use *use, RgDiags *diags)
{
	g_autofree char *text = over_text(use);
	RgDiag *diag;
	if (use->made)
		diag = rg_diags_error(diags, "plan.reservation-over",
			"reservation %s %s: no node of pool %s can be created in it", use->id, text,
			use->pools->str);
	else
		diag = rg_diags_warning(diags, "plan.reservation-over",
			"reservation %s %s, and pool %s has %" G_GINT64_FORMAT " node%s in it",
			use->id, text, use->pools->str, use->nodes, use->nodes == 1 ? "" : "s");
	say(use, diag);
	rg_diag_hint(diag, "name another reservation in `market`, or remove the pool");
	return use->made == 0;
}

static bool check_room(const Use *use, RgDiags *diags)
{
	int64_t free = rg_json_int(use->facts, "free", 0) + use->freed;
	if (use->made <= free)
		return true;
	RgDiag *(*report)(RgDiags *, const char *, const char *, ...) =
		use->input->waits ? rg_diags_warning : rg_diags_error;
	RgDiag *diag =
		say(use, report(diags, "plan.reservation-full",
				 "reservation %s has room for %" G_GINT64_FORMAT
				 " more of its %" G_GINT64_FORMAT
				 " nodes, and the plan creates %" G_GINT64_FORMAT " (pool %s)",
				 use->id, free, rg_json_int(use->facts, "total", 0), use->made,
				 use->pools->str));
	rg_diag_hint(diag, "use fewer nodes, enlarge the reservation, or remove others from it");
	return use->input->waits;
}

/* The old nodes would be removed for new ones that cannot be had yet. */
static bool check_replaced(const Use *use, RgDiags *diags)
{
	if (!use->replaced)
		return true;
	g_autofree char *start = when(use, "start_s");
	bool known = rg_json_int(use->facts, "start_s", 0) > use->input->now_s;
	RgDiag *diag =
		say(use, rg_diags_error(diags, "plan.reservation-starts",
				 "reservation %s is %s%s%s, and %" G_GINT64_FORMAT
				 " existing node%s of pool %s would be removed before that",
				 use->id, rg_json_str(use->facts, "status", "?"),
				 known ? " and starts at " : "", known ? start : "", use->replaced,
				 use->replaced == 1 ? "" : "s", use->pools->str));
	rg_diag_hint(
		diag, "change `market` when the reservation has started, or add a pool for it");
	return false;
}

static void note_start(const Use *use, RgDiags *diags)
{
	g_autofree char *start = when(use, "start_s");
	bool known = rg_json_int(use->facts, "start_s", 0) > use->input->now_s;
	RgDiag *diag = say(
		use, rg_diags_note(diags, "plan.reservation-starts",
			     "reservation %s is %s%s%s: the nodes of pool %s are "
			     "created when it has started",
			     use->id, rg_json_str(use->facts, "status", "?"),
			     known ? " and starts at " : "", known ? start : "", use->pools->str));
	rg_diag_hint(diag, "apply creates the rest of the cluster; run apply again after the "
			   "start, or wait for it with --capacity-timeout");
}

static void warn_of_end(const Use *use, RgDiags *diags)
{
	int64_t clear = rg_json_int(use->facts, "clear_s", 0);
	int64_t end = rg_json_int(use->facts, "end_s", 0);
	if (!end || end - use->input->now_s > SOON_S || (!use->nodes && !use->made))
		return;
	g_autofree char *at = when(use, "end_s"), *from = when(use, "clear_s");
	RgDiag *diag = say(
		use, rg_diags_warning(diags, "plan.reservation-ends",
			     "reservation %s of pool %s ends at %s", use->id, use->pools->str, at));
	if (clear)
		rg_diag_detail(diag, "the cloud terminates its nodes from %s on", from);
	else
		rg_diag_detail(diag, "its nodes continue after that, without reserved capacity");
}

static bool check_use(const Use *use, RgDiags *diags)
{
	if (!use->made && !use->nodes)
		return true;
	if (is_state(use, "over"))
		return check_over(use, diags);
	bool good = !is_state(use, "planned") || check_replaced(use, diags);
	if (is_state(use, "planned") && use->made && good)
		note_start(use, diags);
	warn_of_end(use, diags);
	return check_room(use, diags) && good;
}

bool rg_fit_check_reservations(const RgReservationInput *input, RgDiags *diags)
{
	json_t *facts;
	bool good = true;
	rg_json_foreach_member (id, pools, input->uses) {
		Use use = {.input = input, .id = id, .pools = g_string_new(NULL)};
		use.facts = facts = json_object_get(input->facts, id);
		rg_json_foreach_member (pool, counts, pools) {
			g_autofree char *at = g_strdup_printf("/pools/%s/market/reservation", pool);
			add_use(&use, pool, counts,
				input->cluster ? rg_cluster_source(input->cluster, at)
					       : (RgSource){0});
		}
		good = (!json_is_object(facts) || check_use(&use, diags)) && good;
		g_string_free(use.pools, TRUE);
	}
	return good;
}
