/* Updates whose ends an interrupted run did not see: a decision that depends on one waits until the
 * cloud shows it, or must have shown it. */
#include "base/clock.h"
#include "pipeline/internal.h"

/* How often what blocks a decision is read again, and how often the wait is reported. */
#define DOUBT_FIRST_S 1
#define DOUBT_MAX_S 15
#define DOUBT_TELL_MS 60000

/* Updates that block a decision (decide.md row 15). */
typedef struct {
	const char *address; /* of the first */
	size_t n;
	int64_t left_s; /* until the cloud must show the result of all */
} Doubts;

static bool is_in_doubt(const RgChange *change)
{
	return change->action == RG_ACTION_STOP && change->recorded && change->observed &&
	       change->observed->doubtful;
}

static Doubts find_doubts(const RgPass *pass)
{
	const RgSchema *schema = rg_provider_get_schema(pass->provider);
	int64_t now_s = rg_clock_now_s();
	Doubts doubts = {0};
	rg_ptr_foreach (const RgChange, change, pass->diff->changes) {
		if (!is_in_doubt(change))
			continue;
		const RgKind *kind = rg_schema_kind(schema, change->recorded->kind);
		int64_t pending_s = change->recorded->updating ? kind->unseen_update_s : 0;
		int64_t window_s = rg_provider_consistency_s(pass->provider, kind) + pending_s;
		int64_t changed_s = MAX(change->recorded->created_s, change->recorded->updated_s);
		int64_t left_s = MIN(changed_s + window_s - now_s, window_s);
		if (!doubts.n++)
			doubts.address = change->address;
		doubts.left_s = MAX(doubts.left_s, left_s);
	}
	return doubts;
}

static void tell_doubts(const RgSession *session, const Doubts *doubts, int64_t left_s)
{
	g_autofree char *others =
		doubts->n > 1 ? g_strdup_printf(" and %zu more", doubts->n - 1) : g_strdup("");
	g_autofree char *line = g_strdup_printf(
		"Waiting for an interrupted update of %s%s: it may still take effect. This can "
		"take up to %" G_GINT64_FORMAT " s.\n",
		doubts->address, others, left_s);
	if (session->waiting)
		session->waiting(session->progress_data, line);
}

/* The updates in doubt that the cloud must show by now if they have not ended: a run that was cut
 * off sent nothing after this one had begun. {kind: [{"address", "id"}]}, a new reference. */
static json_t *shown_by_now(const RgPass *pass)
{
	const RgSchema *schema = rg_provider_get_schema(pass->provider);
	int64_t since_ms = rg_clock_monotonic_ms() - pass->looked_ms;
	json_t *by_kind = json_object();
	rg_ptr_foreach (const RgChange, change, pass->diff->changes) {
		if (!is_in_doubt(change) || !change->recorded->updating ||
			g_hash_table_contains(pass->quiet, change->address))
			continue;
		const char *kind = change->recorded->kind;
		int64_t hidden_s =
			rg_provider_changing_s(pass->provider, rg_schema_kind(schema, kind));
		if (!hidden_s || since_ms < 1000 * hidden_s)
			continue;
		json_t *items = json_object_get(by_kind, kind);
		if (!items)
			json_object_set_new(by_kind, kind, items = json_array());
		json_array_append_new(items, json_pack("{s:s, s:s}", "address", change->address,
						     "id", change->recorded->id));
	}
	return by_kind;
}

/* Notes those of which the cloud shows no change. If it does not say, they are waited for as long
 * as they may be pending. */
static void ask_about_doubts(RgPass *pass)
{
	if (!pass->quiet)
		pass->quiet = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	json_auto_t *by_kind = shown_by_now(pass);
	rg_json_foreach_member (kind, items, by_kind) {
		g_autoptr(RgDiags) unsaid = rg_diags_new();
		json_auto_t *input = json_pack("{s:s, s:O}", "kind", kind, "items", items);
		int64_t now_ms = rg_clock_monotonic_ms();
		g_autoptr(GPtrArray) results = rg_provider_changing(pass->provider, input, unsaid);
		rg_ptr_foreach (const RgItemResult, result, results) {
			if (result->outcome == RG_OUTCOME_DONE && !result->text)
				g_hash_table_insert(pass->quiet, g_strdup(result->address),
					g_memdup2(&now_ms, sizeof(now_ms)));
		}
	}
}

/* False if it was canceled. */
static bool wait_for_doubts(RgPass *pass, int64_t wait_s, RgDiags *diags)
{
	if (rg_provider_sleep(pass->provider, (unsigned)wait_s * 1000))
		return true;
	rg_diags_error(
		diags, "provider.canceled", "waiting for an update to become visible was canceled");
	return false;
}

/* Consecutive views may be old ones, so only the cloud's own period is long enough for one that
 * shows no change. One that does ends the wait, and so does the cloud if it says that nothing of it
 * is under way. */
bool pass_look_until_sure(RgSession *session, RgPass *pass, RgDiags *diags)
{
	int64_t end_ms = 0, told_ms = 0, wait_s = DOUBT_FIRST_S;
	for (;;) {
		g_autoptr(RgDiags) found = rg_diags_new();
		bool ok = pass_look(session, pass, found);
		Doubts doubts = ok && session->settle_ms ? find_doubts(pass) : (Doubts){0};
		int64_t now_ms = rg_clock_monotonic_ms();
		if (!end_ms)
			end_ms = now_ms + (doubts.left_s + 1) * 1000;
		int64_t left_s = (end_ms - now_ms + 999) / 1000;
		if (doubts.left_s <= 0 || left_s <= 0) {
			rg_diags_take_new(diags, found);
			return ok;
		}
		if (!told_ms || now_ms - told_ms >= DOUBT_TELL_MS) {
			tell_doubts(session, &doubts, left_s);
			told_ms = now_ms;
		}
		ask_about_doubts(pass);
		if (!wait_for_doubts(pass, MIN(wait_s, left_s), diags))
			return false;
		wait_s = MIN(2 * wait_s, DOUBT_MAX_S);
	}
}
