#include "ready/console.h"
#include <string.h>
#include "base/caps.h"
#include "base/each.h"

#define MARK "raygpu: v1 "
#define LINE_MAX_BYTES 4096
#define TAIL_LINES 10
#define TAIL_LINE_BYTES 200
#define KEY_WIDTH_MIN 4
#define KEY_WIDTH_MAX 16
#define PARTS_MAX 1000

static const char *const state_names[] = {
#define X(name, text) text,
	RG_NODE_STATES(X)
#undef X
};

const char *rg_node_state_name(RgNodeState state)
{
	return state_names[state];
}

/* A parsed report: words as a shell splits them, "KEY=VALUE" each except the first. */
typedef struct {
	char **words;
} Report;

static const char *report_get(const Report *report, const char *key)
{
	size_t len = strlen(key);
	for (char **word = report->words + 1; *word; word++) {
		if (g_str_has_prefix(*word, key) && (*word)[len] == '=')
			return *word + len + 1;
	}
	return "";
}

static int64_t report_int(const Report *report, const char *key, int64_t most)
{
	guint64 value = 0;
	const char *text = report_get(report, key);
	return g_ascii_string_to_unsigned(text, 10, 0, (guint64)most, &value, NULL) ? (int64_t)value
										    : -1;
}

/* What follows the last mark in a line that ends like a report; NULL: it is not a report. */
static char **report_words(const char *line)
{
	const char *mark = g_strrstr(line, MARK);
	char **words = NULL;
	int n = 0;
	if (!mark || !g_shell_parse_argv(mark + strlen(MARK), &n, &words, NULL))
		return NULL;
	if (n >= 2 && g_str_equal(words[n - 1], "end"))
		return words;
	g_strfreev(words);
	return NULL;
}

static void replace(char **text, const char *with)
{
	g_free(*text);
	*text = with && *with ? g_utf8_make_valid(with, -1) : NULL;
}

/* Words with commas between them. */
static void replace_list(char ***list, const char *text)
{
	g_strfreev(*list);
	*list = text && *text ? g_strsplit(text, ",", -1) : NULL;
}

/* ---- the head's roster */

static RgRoster *roster_new(void)
{
	RgRoster *roster = g_new0(RgRoster, 1);
	roster->members = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
	roster->texts = g_string_chunk_new(4096);
	return roster;
}

static void roster_free(RgRoster *roster)
{
	if (!roster)
		return;
	g_hash_table_unref(roster->members);
	g_string_chunk_free(roster->texts);
	g_strfreev(roster->others);
	g_free(roster->ray_version);
	g_free(roster);
}

/* g_free */
static char *key_of(const RgRoster *roster, const char *id)
{
	guint8 digest[32];
	gsize len = sizeof(digest);
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
	g_checksum_update(sum, (const guchar *)id, -1);
	g_checksum_get_digest(sum, digest, &len);
	char *key = g_base64_encode(digest, len);
	key[roster->width] = '\0';
	return key;
}

const RgMember *rg_roster_find(const RgRoster *roster, const char *id)
{
	g_autofree char *key = key_of(roster, id);
	return g_hash_table_lookup(roster->members, key);
}

size_t rg_roster_count_others(const RgRoster *roster, GHashTable *const *ids, size_t n)
{
	g_autoptr(GHashTable) known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	for (size_t i = 0; i < n; i++) {
		rg_hash_keys (const char, id, ids[i]) {
			g_autofree char *key = key_of(roster, id);
			if (g_hash_table_contains(roster->members, key))
				g_hash_table_add(known, g_steal_pointer(&key));
		}
	}
	return g_hash_table_size(roster->members) - g_hash_table_size(known);
}

/* Parts of a roster arrive in order; if one is missing, all of them are useless. */
typedef struct {
	RgRoster *roster; /* being collected; NULL: none */
	int64_t parts, next;
} Collection;

static void collection_clear(Collection *collection)
{
	roster_free(collection->roster);
	*collection = (Collection){0};
}

static void roster_add(RgRoster *roster, const Report *report)
{
	const char *keys = report_get(report, "ids");
	const char *driver =
		g_string_chunk_insert_const(roster->texts, report_get(report, "driver"));
	for (size_t left = strlen(keys); left >= roster->width; left -= roster->width) {
		RgMember *member = g_new0(RgMember, 1);
		*member = (RgMember){report_int(report, "gpus", G_MAXUINT16), driver};
		g_hash_table_replace(roster->members,
			g_string_chunk_insert_len(roster->texts, keys, roster->width), member);
		keys += roster->width;
	}
}

/* The roster, if this was its last part; owned by the caller. */
static RgRoster *roster_take(Collection *collection, const Report *report)
{
	int64_t at = report_int(report, "at", G_MAXINT64 / 1000);
	int64_t part = report_int(report, "part", PARTS_MAX);
	int64_t parts = report_int(report, "parts", PARTS_MAX);
	int64_t width = report_int(report, "width", KEY_WIDTH_MAX);
	if (part == 1) {
		collection_clear(collection);
		*collection = (Collection){.roster = roster_new(), .parts = parts, .next = 1};
		collection->roster->at = at;
		collection->roster->width = (guint)MAX(width, 0);
		collection->roster->without_id =
			MAX(report_int(report, "without_id", RG_CAP_NODES), 0);
		replace_list(&collection->roster->others, report_get(report, "others"));
		replace(&collection->roster->ray_version, report_get(report, "ray"));
	}
	RgRoster *roster = collection->roster;
	if (!roster || part != collection->next || parts != collection->parts || at < 0 ||
		at != roster->at || width != roster->width || width < KEY_WIDTH_MIN ||
		g_hash_table_size(roster->members) > RG_CAP_NODES) {
		collection_clear(collection);
		return NULL;
	}
	roster_add(roster, report);
	collection->next++;
	if (part < parts)
		return NULL;
	collection->roster = NULL;
	return roster;
}

/* ---- one node */

typedef struct {
	RgConsole *console;
	Collection collection;
	char *boot;
} Reading;

static void take_failure(RgConsole *console, const Report *report)
{
	const char *reason = report_get(report, "reason");
	console->code = report_int(report, "code", 255);
	replace(&console->failed_step, *console->step ? console->step : "start");
	replace(&console->reason, *reason ? reason : "no reason was reported");
	replace_list(&console->bad_uuids, report_get(report, "gpu"));
	replace_list(&console->bad_serials, report_get(report, "serial"));
}

static void clear_failure(RgConsole *console)
{
	replace(&console->failed_step, NULL);
	replace(&console->reason, NULL);
	replace_list(&console->bad_uuids, NULL);
	replace_list(&console->bad_serials, NULL);
}

static void take_state(RgConsole *console, RgNodeState state, const Report *report)
{
	console->state = state;
	if (state == RG_NODE_BOOTED)
		replace(&console->driver, NULL);
	if (*report_get(report, "driver"))
		replace(&console->driver, report_get(report, "driver"));
	console->gpus = state == RG_NODE_JOINED ? report_int(report, "gpus", G_MAXUINT16) : -1;
	if (state == RG_NODE_GPUS)
		replace_list(&console->uuids, report_get(report, "gpu"));
	if (state == RG_NODE_JOINED)
		clear_failure(console);
	if (state == RG_NODE_FAILED)
		take_failure(console, report);
}

/* The machine rebooted: earlier reports no longer apply. */
static void take_boot(Reading *reading, const char *boot)
{
	if (g_strcmp0(boot, reading->boot) == 0)
		return;
	replace(&reading->boot, boot);
	reading->console->state = RG_NODE_SILENT;
	reading->console->gpus = -1;
	replace(&reading->console->driver, NULL);
	replace_list(&reading->console->uuids, NULL);
	clear_failure(reading->console);
	g_clear_pointer(&reading->console->roster, roster_free);
	reading->console->demand.at = -1;
	collection_clear(&reading->collection);
}

static void take_demand(RgDemand *demand, const Report *report)
{
	demand->at = report_int(report, "at", G_MAXINT64 / 1000);
	demand->requests = report_int(report, "requests", G_MAXINT32);
	demand->groups = report_int(report, "groups", G_MAXINT32);
	replace(&demand->shapes, report_get(report, "shapes"));
	if (demand->requests < 0 || demand->groups < 0)
		demand->at = -1;
}

static void take_report(Reading *reading, const Report *report)
{
	RgConsole *console = reading->console;
	const char *word = report->words[0], *boot = report_get(report, "boot");
	if (*boot == '\0')
		return;
	take_boot(reading, boot);
	if (g_str_equal(word, "nodes")) {
		RgRoster *roster = roster_take(&reading->collection, report);
		if (roster) {
			roster_free(console->roster);
			console->roster = roster;
		}
		return;
	}
	if (g_str_equal(word, "demand")) {
		take_demand(&console->demand, report);
		return;
	}
	g_free(console->step);
	console->step = g_strdup(report_get(report, "step"));
	for (gsize i = RG_NODE_BOOTED; i < G_N_ELEMENTS(state_names); i++) {
		if (g_str_equal(word, state_names[i]))
			take_state(console, (RgNodeState)i, report);
	}
}

/* For people: one line of printable text. */
static void add_tail(RgConsole *console, char *line)
{
	g_autofree char *text = g_utf8_make_valid(line, -1);
	for (char *at = text; *at != '\0'; at++) {
		if (g_ascii_iscntrl(*at))
			*at = ' ';
	}
	g_strstrip(text);
	if (*text == '\0')
		return;
	if (strlen(text) > TAIL_LINE_BYTES)
		*(char *)(uintptr_t)g_utf8_find_prev_char(text, text + TAIL_LINE_BYTES) = '\0';
	if (console->tail->len == TAIL_LINES)
		g_ptr_array_remove_index(console->tail, 0);
	g_ptr_array_add(console->tail, g_steal_pointer(&text));
}

static void take_line(Reading *reading, const char *start, size_t len)
{
	g_autofree char *line = g_strchomp(g_strndup(start, MIN(len, LINE_MAX_BYTES)));
	Report report = {report_words(line)};
	if (report.words)
		take_report(reading, &report);
	else if (!strstr(line, MARK))
		add_tail(reading->console, line);
	g_strfreev(report.words);
}

RgConsole *rg_console_parse(const char *text)
{
	RgConsole *console = g_new0(RgConsole, 1);
	console->tail = g_ptr_array_new_with_free_func(g_free);
	console->step = g_strdup("");
	console->gpus = -1;
	console->demand.at = -1;
	Reading reading = {.console = console};
	for (const char *line = text; line && *line != '\0';) {
		size_t len = strcspn(line, "\n");
		take_line(&reading, line, len);
		line += len + (line[len] == '\n');
	}
	collection_clear(&reading.collection);
	g_free(reading.boot);
	return console;
}

void rg_console_free(RgConsole *console)
{
	if (!console)
		return;
	g_free(console->step);
	g_free(console->failed_step);
	g_free(console->reason);
	g_free(console->driver);
	g_strfreev(console->uuids);
	g_strfreev(console->bad_uuids);
	g_strfreev(console->bad_serials);
	roster_free(console->roster);
	g_free(console->demand.shapes);
	g_ptr_array_unref(console->tail);
	g_free(console);
}
