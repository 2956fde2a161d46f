#include "render/text/paint.h"
#include "base/clock.h"

/* Progress of an apply. Not on a terminal: Terraform's lines, one per address. On a terminal: what
 * failed, and one line that is redrawn, with a count for each pool. */

#define TELL_AGAIN_S 60 /* in a log, although nothing has changed */
#define REDRAW_MS 100

typedef struct {
	char *name;
	unsigned total, started, done, failed;
} Pool;

struct RgProgress {
	bool live;
	RgStyle style;
	RgWrite write;
	void *data;
	GPtrArray *pools; /* Pool* */
	int64_t drawn_ms, begun_ms;
	bool shown, waits; /* for nodes to join Ray: that line stays */
	char *told;	   /* of that wait: the last line, whole */
	double told_s;	   /* when, since it began */
};

static void pool_free(void *data)
{
	Pool *pool = data;
	g_free(pool->name);
	g_free(pool);
}

static Pool *get_pool(RgProgress *progress, const char *group)
{
	const char *name = group ? group : "network";
	rg_ptr_foreach (Pool, pool, progress->pools) {
		if (g_str_equal(pool->name, name))
			return pool;
	}
	Pool *pool = g_new0(Pool, 1);
	pool->name = g_strdup(name);
	g_ptr_array_add(progress->pools, pool);
	return pool;
}

static unsigned calls_of(const RgPlanChange *change)
{
	return change->action == RG_ACTION_REPLACE ? 2
	       : change->action == RG_ACTION_CREATE || change->action == RG_ACTION_UPDATE ||
			       change->action == RG_ACTION_DELETE
		       ? 1
		       : 0;
}

RgProgress *rg_progress_new(
	const RgPlan *plan, bool live, const RgStyle *style, RgWrite write, void *data)
{
	RgProgress *progress = g_new0(RgProgress, 1);
	progress->live = live;
	progress->style = *style;
	progress->write = write;
	progress->data = data;
	progress->begun_ms = rg_clock_monotonic_ms();
	progress->pools = g_ptr_array_new_with_free_func(pool_free);
	rg_ptr_foreach (const RgPlanChange, change, plan->changes) {
		unsigned calls = calls_of(change);
		if (calls)
			get_pool(progress, rg_plan_change_pool(change))->total += calls;
	}
	return progress;
}

void rg_progress_free(RgProgress *progress)
{
	if (!progress)
		return;
	g_ptr_array_unref(progress->pools);
	g_free(progress->told);
	g_free(progress);
}

static void erase(RgProgress *progress)
{
	if (progress->shown)
		progress->write(progress->data, "\r\033[K");
	progress->shown = false;
}

/* The part of a line that fits `room` columns: a longer one would wrap and could not be erased. */
static char *cut(const char *line, unsigned room)
{
	g_autofree char *safe = clean(line);
	const char *at = safe;
	for (unsigned used = 0; *at; at = next_char(at)) {
		used += columns_of_char(g_utf8_get_char(at));
		if (used > room)
			break;
	}
	return g_strndup(safe, (gsize)(at - safe));
}

static void redraw(RgProgress *progress, bool now)
{
	int64_t ms = rg_clock_monotonic_ms();
	if (!now && ms - progress->drawn_ms < REDRAW_MS)
		return;
	progress->drawn_ms = ms;
	unsigned done = 0, total = 0;
	for (guint i = 0; i < progress->pools->len; i++) {
		done += ((const Pool *)progress->pools->pdata[i])->done;
		total += ((const Pool *)progress->pools->pdata[i])->total;
	}
	g_autoptr(GString) line = g_string_new(NULL);
	g_string_append_printf(line, "%3" G_GINT64_FORMAT "s  %u of %u done",
		(ms - progress->begun_ms) / 1000, done, total);
	rg_ptr_foreach (const Pool, pool, progress->pools) {
		if (!pool->total)
			continue;
		g_string_append_printf(line, "  %s %u/%u", pool->name, pool->done, pool->total);
		if (pool->failed)
			g_string_append_printf(line, " (%u failed)", pool->failed);
	}
	g_autofree char *shown = cut(line->str, style_width(&progress->style) - 1);
	erase(progress);
	progress->write(progress->data, shown);
	progress->shown = true;
}

static const char *verb(RgAction action, bool done)
{
	switch (action) {
	case RG_ACTION_CREATE:
		return done ? "Creation complete" : "Creating";
	case RG_ACTION_UPDATE:
		return done ? "Modifications complete" : "Modifying";
	case RG_ACTION_DELETE:
		return done ? "Destruction complete" : "Destroying";
	case RG_ACTION_RECORD:
		return done ? "Recording complete" : "Recording";
	case RG_ACTION_FORGET:
	case RG_ACTION_RELEASE:
	case RG_ACTION_REPLACE:
	case RG_ACTION_STOP:
	case RG_ACTION_NONE:
		break;
	}
	return done ? "Forgetting complete" : "Forgetting";
}

/* The kind's own words begin small: "giving back", "given back"; g_free. */
static char *doing(const RgEvent *event, bool done)
{
	const char *own = event->action == RG_ACTION_DELETE
				  ? rg_json_str(event->removal, done ? "done" : "doing", NULL)
				  : NULL;
	char *text = g_strdup(own ? own : verb(event->action, done));
	*text = g_ascii_toupper(*text);
	return text;
}

char *rg_render_event(const RgEvent *event)
{
	const char *id = event->id ? event->id : "";
	const char *open = event->id ? " [id=" : "", *close = event->id ? "]" : "";
	g_autofree char *what = doing(event, event->type == RG_EVENT_DONE);
	switch (event->type) {
	case RG_EVENT_REPLAY:
	case RG_EVENT_MOVE:
	case RG_EVENT_GANG:
	case RG_EVENT_INTERRUPT:
		return g_strdup_printf("%s\n", event->text);
	case RG_EVENT_START:
		return g_strdup_printf("%s: %s...%s%s%s\n", event->address, what, open, id, close);
	case RG_EVENT_STILL:
		*what = g_ascii_tolower(*what);
		return g_strdup_printf("%s: Still %s... [%.0fs elapsed]%s%s\n", event->address,
			what, event->seconds, event->text ? ": " : "",
			event->text ? event->text : "");
	case RG_EVENT_DONE:
		return g_strdup_printf("%s: %s after %.0fs%s%s%s\n", event->address, what,
			event->seconds, open, id, close);
	case RG_EVENT_QUEUED:
		return g_strdup_printf("%s: Queued%s%s%s%s%s\n", event->address,
			event->text ? ": " : "", event->text ? event->text : "", open, id, close);
	case RG_EVENT_FAILED:
		return g_strdup_printf("%s: failed: %s\n", event->address,
			event->diag ? event->diag->summary : "see the errors below");
	case RG_EVENT_TIME:
		break;
	case RG_EVENT_BLOCKED:
		return g_strdup_printf(
			"%s: not tried, because %s failed\n", event->address, event->text);
	}
	return g_strdup("");
}

static void count(RgProgress *progress, const RgEvent *event)
{
	if (!event->address || event->action == RG_ACTION_RECORD ||
		event->action == RG_ACTION_FORGET || event->action == RG_ACTION_RELEASE)
		return;
	Pool *pool = get_pool(progress, event->pool);
	pool->started += event->type == RG_EVENT_START;
	pool->done += event->type == RG_EVENT_DONE || event->type == RG_EVENT_QUEUED;
	pool->failed += event->type == RG_EVENT_FAILED || event->type == RG_EVENT_BLOCKED;
}

static bool worth_a_line(const RgProgress *progress, RgEventType type)
{
	if (type == RG_EVENT_TIME)
		return false;
	return !progress->live || type == RG_EVENT_REPLAY || type == RG_EVENT_INTERRUPT ||
	       type == RG_EVENT_GANG || type == RG_EVENT_MOVE || type == RG_EVENT_FAILED ||
	       type == RG_EVENT_QUEUED;
}

void rg_progress_event(RgProgress *progress, const RgEvent *event)
{
	count(progress, event);
	bool line = worth_a_line(progress, event->type);
	if (line) {
		g_autofree char *raw = rg_render_event(event);
		g_autofree char *text = clean_message(g_strchomp(raw));
		g_autoptr(GString) whole = g_string_new(NULL);
		if (progress->live) /* otherwise one line per event, for tools that read Terraform's
				     */
			wrap(whole, &progress->style, "", text);
		else
			g_string_append_printf(whole, "%s\n", text);
		g_autofree char *shown = text_finish(g_steal_pointer(&whole), &progress->style);
		erase(progress);
		progress->write(progress->data, shown);
	}
	if (progress->live)
		redraw(progress, line);
}

/* "train 3 of 4 joined (1 pulling the image)" */
static void add_ready(GString *text, const RgReadyPool *pool)
{
	g_string_append_printf(text, "%s%s %u of %u joined", text->len ? ", " : "", pool->pool,
		pool->joined, pool->nodes);
	unsigned boots = pool->nodes - pool->joined - pool->pulling - pool->failed;
	const struct {
		unsigned n;
		const char *what;
	} rest[] = {
		{boots, "booting"}, {pool->pulling, "pulling the image"}, {pool->failed, "failed"}};
	bool open = false;
	for (size_t i = 0; i < G_N_ELEMENTS(rest); i++) {
		if (!rest[i].n)
			continue;
		g_string_append_printf(
			text, "%s%u %s", open ? ", " : " (", rest[i].n, rest[i].what);
		open = true;
	}
	g_string_append(text, open ? ")" : "");
}

char *rg_render_ready(const RgReadyEvent *event)
{
	g_autoptr(GString) pools = g_string_new(NULL);
	for (size_t i = 0; i < event->n; i++)
		add_ready(pools, &event->pools[i]);
	return clean(pools->str);
}

/* For a line that has no room for each pool; g_free. */
static char *sum_of_ready(const RgReadyEvent *event)
{
	unsigned joined = 0, nodes = 0, failed = 0;
	for (size_t i = 0; i < event->n; i++) {
		joined += event->pools[i].joined;
		nodes += event->pools[i].nodes;
		failed += event->pools[i].failed;
	}
	g_autofree char *bad = failed ? g_strdup_printf(" (%u failed)", failed) : g_strdup("");
	return g_strdup_printf(
		"%3.0fs  Ray: %u of %u nodes joined%s", event->seconds, joined, nodes, bad);
}

/* What stays on the terminal has all pools, on as many lines as they need. */
static void leave_whole(RgProgress *progress)
{
	g_autoptr(GString) text = g_string_new(NULL);
	if (columns_of(progress->told) < style_width(&progress->style))
		return;
	erase(progress);
	wrap(text, &progress->style, "", progress->told);
	g_string_truncate(text, text->len - 1); /* the line feed */
	progress->write(progress->data, text->str);
}

void rg_progress_ready(RgProgress *progress, const RgReadyEvent *event)
{
	g_autofree char *safe = rg_render_ready(event);
	if (progress->live) {
		g_autofree char *line = g_strdup_printf("%3.0fs  Ray: %s", event->seconds, safe);
		g_autofree char *brief = sum_of_ready(event);
		unsigned room = style_width(&progress->style) - 1;
		g_autofree char *shown = cut(columns_of(line) > room ? brief : line, room);
		if (!progress->waits && progress->shown) {
			redraw(progress, true);
			progress->write(progress->data, "\n");
		} else {
			erase(progress);
		}
		progress->write(progress->data, shown);
		progress->shown = progress->waits = true;
		g_free(progress->told);
		progress->told = g_steal_pointer(&line);
	} else if (g_strcmp0(safe, progress->told) != 0 ||
		   event->seconds - progress->told_s >= TELL_AGAIN_S) {
		bool again = g_strcmp0(safe, progress->told) == 0;
		g_autofree char *more =
			again ? g_strdup_printf("; this can take up to %" G_GINT64_FORMAT " s more",
					event->left_s)
			      : g_strdup("");
		g_autofree char *line = g_strdup_printf("Ray: %s%s\n", safe, more);
		progress->write(progress->data, line);
		progress->told_s = event->seconds;
		g_free(progress->told);
		progress->told = g_steal_pointer(&safe);
	}
}

void rg_progress_finish(RgProgress *progress)
{
	if (!progress->live)
		return;
	if (progress->waits)
		leave_whole(progress);
	else
		redraw(progress, true);
	progress->write(progress->data, "\n");
	progress->shown = false;
}

static void add_unjoined(GString *text, const RgReadyResult *ready)
{
	size_t failed = json_array_size(ready->failed);
	if (failed)
		g_string_append_printf(text, "%zu of %u new nodes did not join Ray.%s\n", failed,
			ready->awaited, ready->joined ? " The others work." : "");
	else if (ready->interrupted)
		g_string_append(text, "Interrupted while waiting for nodes to join Ray: the next "
				      "apply waits for them.\n");
}

static void add_given_back(GString *text, unsigned n, const char *why)
{
	if (n)
		g_string_append_printf(text, "%u more %s created and removed again, because %s.\n",
			n, n == 1 ? "was" : "were", why);
}

char *rg_render_apply_result(
	const RgApplyResult *result, const RgReadyResult *ready, bool destroy, const RgStyle *style)
{
	GString *text = g_string_new("\n");
	bool bad = json_array_size(ready->failed) || result->failed || result->blocked ||
		   result->open || result->queued || result->interrupted;
	g_autofree char *counts = applied_counts(!bad && destroy, result->imported, result->added,
		result->changed, result->destroyed, result->forgotten);
	paintf(text, style, bad ? RED : GREEN, "%s Resources: %s.",
		!bad		      ? destroy ? "Destroy complete!" : "Apply complete!"
		: result->interrupted ? "Apply interrupted."
				      : "Apply incomplete.",
		counts);
	g_string_append_c(text, '\n');
	add_given_back(text, result->given_back - result->remade,
		bad ? "the gang was not complete" : "the pool was not complete there");
	add_given_back(text, result->remade, "what needs it went elsewhere");
	if (result->failed || result->blocked)
		g_string_append_printf(text,
			"%u failed, %u not tried because of that; run apply again to "
			"complete it.\n",
			result->failed, result->blocked);
	if (result->queued)
		g_string_append_printf(text,
			"%u wait%s in a queue of the provider; apply waits for that with "
			"--capacity-timeout.\n",
			result->queued, result->queued == 1 ? "s" : "");
	add_unjoined(text, ready);
	if (result->open)
		g_string_append_printf(text,
			"%u request%s without a known outcome: the next apply clears "
			"that up.\n",
			result->open, result->open == 1 ? "" : "s");
	return g_string_free(text, FALSE);
}
