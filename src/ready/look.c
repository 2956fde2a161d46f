#include "ready/internal.h"
#include "base/clock.h"
#include "state/write.h"

/* Consoles beside the head's that one look may read, and how often one node's is. */
#define OWN_MAX 8
#define OWN_LAST_MAX 20 /* where the time is over: what is shown of the failures */
#define OWN_EVERY_S 60
/* A new machine may be unknown to one of the cloud's servers while another one already lists it. */
#define MISSED_MAX 2
#define OWN_FEW_S 10 /* where the head has joined, and no more than OWN_MAX others have not */

/* ---- reading */

static bool is_open(const Node *node)
{
	return node->fate == NODE_BOOTS || node->fate == NODE_PULLS;
}

static bool is_late(const Wait *wait, const Node *node)
{
	return wait->now_s >= node->deadline_s;
}

/* How often the own consoles of open nodes are read. A node that gave up says so only there. */
static int64_t own_every_s(const Wait *wait)
{
	guint open = 0;
	for (guint i = 0; i < wait->nodes->len; i++)
		open += is_open(wait->nodes->pdata[i]);
	return wait->head->fate == NODE_JOINED && open <= OWN_MAX ? OWN_FEW_S : OWN_EVERY_S;
}

/* The few that are missing are read before their usual time is over. */
static void look_sooner(const Wait *wait)
{
	const int64_t every_s = own_every_s(wait);
	for (guint i = 0; every_s == OWN_FEW_S && i < wait->nodes->len; i++) {
		Node *node = wait->nodes->pdata[i];
		node->look_s = MIN(node->look_s, wait->now_s + every_s);
	}
}

/* The head, and of the others those that it misses past their usual time, or a few. */
static GPtrArray *nodes_to_read(const Wait *wait)
{
	GPtrArray *some = g_ptr_array_new();
	guint most = OWN_MAX;
	const int64_t every_s = own_every_s(wait);
	g_ptr_array_add(some, wait->head);
	rg_ptr_foreach (Node, node, wait->nodes)
		if (is_open(node) && is_late(wait, node))
			most = OWN_LAST_MAX;
	for (guint i = 0; i < wait->nodes->len && some->len <= most; i++) {
		Node *node = wait->nodes->pdata[i];
		if (node == wait->head || !is_open(node) || wait->now_s < node->look_s)
			continue;
		node->look_s = MAX(wait->now_s + 1, MIN(wait->now_s + every_s, node->deadline_s));
		g_ptr_array_add(some, node);
	}
	return some;
}

static json_t *input_for(const Wait *wait, const GPtrArray *nodes)
{
	json_t *items = json_array();
	for (guint i = 0; i < nodes->len; i++) {
		const RgResource *resource = ((const Node *)nodes->pdata[i])->resource;
		json_array_append_new(items,
			json_pack("{s:s, s:s}", "address", resource->address, "id", resource->id));
	}
	return json_pack("{s:s, s:o}", "kind", wait->head->resource->kind, "items", items);
}

/* That nothing is known of the nodes is not a failure of theirs. */
static void tell_unreadable(const Wait *wait, const RgItemResult *result)
{
	const char *address = wait->head->resource->address;
	RgDiag *diag = rg_diags_warning(wait->diags, "ready.unreadable",
		"cannot see whether the nodes join Ray: %s",
		result->message
			? result->message
			: "the console of the head shows only what was there soon after its boot");
	rg_diag_address(diag, address, NULL);
	rg_diag_hint(
		diag, "%s", result->hint ? result->hint : "`raygpu apply --no-wait` does not look");
	rg_diag_cloud(diag, rg_provider_name(wait->provider), result->code, result->request_id);
}

/* false: the cloud does not show them to us. */
static bool take_results(Wait *wait, const GPtrArray *nodes, const GPtrArray *results)
{
	for (guint i = 0; i < results->len; i++) {
		const RgItemResult *result = results->pdata[i];
		Node *node = nodes->pdata[i];
		node->missed =
			result->outcome == RG_OUTCOME_FAILED && result->class_ == RG_CLASS_GONE
				? node->missed + 1
				: 0;
		if (result->outcome == RG_OUTCOME_DONE) {
			rg_console_free(node->console);
			node->console = rg_console_parse(result->text);
			node->stale = result->stale;
			if (is_open(node))
				node->given_back = wait_given_back(wait, node);
		}
		node->examined |= node->examine;
		bool blind = result->outcome == RG_OUTCOME_DONE
				     ? result->stale && node->console->state != RG_NODE_JOINED
				     : result->class_ == RG_CLASS_DENIED;
		if (node->is_head && blind) {
			tell_unreadable(wait, result);
			return false;
		}
	}
	return true;
}

/* ---- judging */

static const RgMember *member_of(const Wait *wait, const Node *node)
{
	const RgConsole *head = wait->head->console;
	return head && head->roster ? rg_roster_find(head->roster, node->resource->id) : NULL;
}

/* Its list has everybody who has joined by now. */
static bool head_lists_members(const Wait *wait)
{
	const RgConsole *head = wait->head->console;
	return head && head->roster && !wait->head->stale &&
	       wait->now_s - head->roster->at <= WAIT_QUIET_MAX_S;
}

/* Its own word, which may come too early (src/boot/README.md, "Reports"), counts where the head
 * does not list the members of now, and at the end of its time. */
static bool counts_own_word(const Wait *wait, const Node *node)
{
	const RgConsole *own = node->console;
	return own && own->state == RG_NODE_JOINED &&
	       (!head_lists_members(wait) || node == wait->head || is_late(wait, node));
}

/* {"at_s", "gpus", "driver"} when it joined: by the head's word, or its own. A new reference. */
static json_t *joined_of(const Wait *wait, const Node *node)
{
	const RgMember *member = member_of(wait, node);
	const RgConsole *own = node->console;
	if (member)
		return json_pack("{s:I, s:I, s:s}", "at_s", (json_int_t)wait->now_s, "gpus",
			(json_int_t)member->gpus, "driver", member->driver);
	if (counts_own_word(wait, node))
		return json_pack("{s:I, s:I, s:s}", "at_s", (json_int_t)wait->now_s, "gpus",
			(json_int_t)own->gpus, "driver", own->driver ? own->driver : "");
	return NULL;
}

/* A suspect counts as joined only when its own console was read, once. */
static bool must_examine(const Wait *wait, Node *node)
{
	node->examine = node->suspect && !node->examined && !is_late(wait, node);
	if (node->examine)
		node->look_s = wait->now_s;
	return node->examine;
}

bool wait_is_gone(const Node *node)
{
	return node->missed >= MISSED_MAX;
}

static void judge_open(Wait *wait, Node *node)
{
	const RgConsole *own = node->console;
	node->final = node->given_back || wait_is_gone(node) ||
		      (own && own->state == RG_NODE_FAILED && own->code == RG_NODE_GAVE_UP);
	if (node->final || is_late(wait, node))
		node->fate = NODE_FAILED;
	else
		node->fate = own && own->state == RG_NODE_PULLING ? NODE_PULLS : NODE_BOOTS;
}

/* Writes what joined since the last look; false when the state can't be written. */
static bool judge_all(Wait *wait)
{
	g_autoptr(GArray) joined = g_array_new(FALSE, FALSE, sizeof(RgJoined));
	json_auto_t *kept = json_array();
	rg_ptr_foreach (Node, node, wait->nodes) {
		json_t *what = is_open(node) && !node->given_back ? joined_of(wait, node) : NULL;
		if (what && must_examine(wait, node)) {
			json_decref(what);
		} else if (what) {
			const RgJoined one = {node->resource->address, what};
			node->fate = NODE_JOINED;
			json_array_append_new(kept, what);
			g_array_append_val(joined, one);
		} else if (is_open(node)) {
			judge_open(wait, node);
		}
	}
	wait->result->joined += joined->len;
	return !joined->len || rg_store_joined(wait->store, wait->cluster,
				       (const RgJoined *)joined->data, joined->len, wait->diags);
}

/* Without a head nobody can join, however long it takes. */
static void judge_by_head(Wait *wait)
{
	for (guint i = 0; wait->head->fate == NODE_FAILED && i < wait->nodes->len; i++) {
		Node *node = wait->nodes->pdata[i];
		if (is_open(node))
			node->fate = NODE_FAILED;
	}
}

bool wait_look(Wait *wait)
{
	wait->now_s = rg_clock_now_s();
	g_autoptr(GPtrArray) nodes = nodes_to_read(wait);
	json_auto_t *input = input_for(wait, nodes);
	g_autoptr(RgDiags) unread = rg_diags_new(); /* the next look may succeed */
	g_autoptr(GPtrArray) results = rg_provider_console(wait->provider, input, unread);
	wait->result->unknown = !take_results(wait, nodes, results);
	if (wait->result->unknown || !judge_all(wait))
		return false;
	judge_by_head(wait);
	look_sooner(wait);
	for (guint i = 0; i < wait->nodes->len; i++) {
		if (is_open(wait->nodes->pdata[i]))
			return true;
	}
	return false;
}

int64_t wait_next_s(const Wait *wait, int64_t most)
{
	int64_t next_s = wait->now_s + most;
	rg_ptr_foreach (const Node, node, wait->nodes)
		if (is_open(node))
			next_s = MIN(
				next_s, MIN(node->deadline_s, MAX(node->look_s, wait->now_s + 1)));
	return MAX(next_s - wait->now_s, 1);
}
