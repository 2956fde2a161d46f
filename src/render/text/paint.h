/* Colours, widths and cleaning of the texts in this folder. Texts contain words from outside
 * (names, clouds' answers, lines of specs), so all of them leave through text_finish, and a word
 * that must stay on its line goes through clean first. Pure; the caller owns the results
 * (g_free). */
#pragma once
#include "base/price.h"
#include "render/text/table.h"

#define RED "31"
#define GREEN "32"
#define YELLOW "33"
#define CYAN "36"
#define BOLD "1"
#define DIM "2"

/* Appends text between the escape codes, or plain. */
void paint(GString *to, const RgStyle *style, const char *code, const char *text);
void paintf(GString *to, const RgStyle *style, const char *code, const char *format, ...)
	G_GNUC_PRINTF(4, 5);
/* Appends words of `text` wrapped to the width, every line after `indent`. */
void wrap(GString *to, const RgStyle *style, const char *indent, const char *text);
/* The same for one paragraph: a line feed in an argument does not start a line. */
void wrapf(GString *to, const RgStyle *style, const char *indent, const char *format, ...)
	G_GNUC_PRINTF(4, 5);
unsigned style_width(const RgStyle *style);

/* A copy on one line: valid UTF-8, every control and format character (escape sequences, new
 * lines, changes of direction) replaced by U+FFFD. NULL gives NULL. */
char *clean(const char *text);
/* The same of a message: its line feeds and tabs become blanks. */
char *clean_message(const char *text);
/* Columns on a terminal, not counting colours: 2 for a wide character, 0 for a combining one, 1 for
 * a tab. */
unsigned columns_of(const char *text);
unsigned columns_of_char(gunichar c);
int columns_of_names(const json_t *object); /* of the widest */
const char *next_char(const char *at);	    /* of valid UTF-8 */
/* Takes ownership of the text: secrets redacted, no control characters except line feeds, tabs and
 * (with colours) the codes of paint, no command for a CI system (base/disarm.h). */
char *text_finish(GString *text, const RgStyle *style);

/* value.c */
/* One attribute value on one line: JSON, references as "address.attr", long texts by their size and
 * the first digits of their digest, so that two of them can be distinguished. */
char *value_text(json_t *value);
/* Whether it is an object with members, and not an expression. */
bool value_is_map(const json_t *value);
/* "PREFIX VALUE" and a line feed; a map or list that is too wide gets a line for each member. */
void add_value(GString *to, const RgStyle *style, const char *prefix, json_t *value);
/* "PREFIX BEFORE -> AFTER NOTE" and a line feed; of maps and lists only the members that differ. */
void add_difference(GString *to, const RgStyle *style, const char *prefix, json_t *before,
	json_t *after, const char *note);

/* pools.c. "$1.00 -> $3.00 (+$2.00)", "$1.00 -> at least $3.00": without the difference if a price
 * is missing; g_free both. */
char *count_change(unsigned before, unsigned after); /* "2", or "2 -> 4"; g_free */
/* The pool's nodes, before and after: "2 -> 4", "3 of 2-8"; g_free it. */
char *nodes_change(const RgPlanPool *pool);
/* What its nodes cost per hour, before and after, with the marks of its price; g_free it. */
/* Whether no price of any node is known, so that sums would be 0. */
bool rg_sums_lack_prices(const RgPlanSum *before, const RgPlanSum *after);
char *pool_cost(const RgPlanPool *pool, RgPriceMarks *seen, const char *today);
char *money_change(const RgPlanSum *before, const RgPlanSum *after, int64_t hours);
/* "m5.large -> m5.xlarge", or only the second if the first is NULL; g_free. */
char *word_change(const char *before, const char *after);
/* "0.036 -> 0.106 (+0.070) kg CO2e per hour" */
char *carbon_change(const RgPlanSum *before, const RgPlanSum *after);
/* "head, 2 of train": whose nodes the plan destroys without a new one, or replaces (*head: the head
 * is among them; unchanged if not); g_free, "" if none. */
char *destroyed_nodes(const RgPlan *plan, const char **label);
char *replaced_nodes(const RgPlan *plan, bool *head);
/* "+ $0.53 per hour for 1 node no longer counted", of nodes that are given up; g_free, NULL: none.
 */
char *forgotten_text(const RgPlan *plan);
/* pools.c: the table of pools, what Ray will see, what it costs */
/* `told`: the marks of prices that the text explains so far */
void add_pools(GString *text, const RgPlan *plan, RgPriceMarks *told, const RgStyle *style);

/* chosen.c: whether fit's reason for an instance type means a choice among several */
bool is_choice(const char *reason);
void add_choices(GString *text, const RgPlan *plan, const RgStyle *style);
/* "New nodes of head, serve: ray.image example/ray:1, setup_commands: 2": an approver sees whose
 * code new nodes run, which is only a compressed text among their attributes. char* */
GPtrArray *runs_lines(const RgPlan *plan);
void add_runs(GString *text, const RgPlan *plan, const RgStyle *style);
/* disabled.c. "Pool train is disabled (cluster.yaml:12); enabled, it has ...", or that it is
 * enabled again; g_free, NULL: neither. */
char *disabled_text(const RgPlanPool *pool);
void add_disabled(GString *text, const RgPlan *plan, const RgStyle *style);
/* capacity.c */
void add_capacity(GString *text, const RgPlan *plan, RgPriceMarks *told, const RgStyle *style);
/* place.c: "2022 to 2026", as exact as the less exact of the two; `oldest` NULL: all are of one
 * date. g_free. */
char *price_dates(const char *oldest, const char *newest);
/* place.c: why the cluster is where it is; nothing when the spec left no choice */
void add_placing(GString *text, const RgPlan *plan, RgPriceMarks *told, const RgStyle *style);

/* alike.c: {kind: attributes that all its new resources have in common; of maps their members}. A
 * new reference. */
json_t *alike_of(const RgPlan *plan);
/* The part of an attribute's value that is not in `alike` (of the kind; may be NULL); NULL:
 * nothing. A new reference. */
json_t *alike_rest(const json_t *alike, const char *name, json_t *value);

/* explained.c: which fields of the spec caused a change, one line per field */
void add_spec_changes(GString *text, const RgPlanChange *change, const RgStyle *style);
/* The field of the spec that determines an attribute which replaces its resource; NULL: unknown. */
const char *spec_field_of(const RgPlanChange *change, const char *attribute);
/* "ray.image, env.TOKEN"; NULL: no known field of the spec. g_free. */
char *spec_changes_phrase(const RgPlanChange *change);
/* char*: "train: ray.image \"a\" -> \"b\"", each once; with the pool or without */
GPtrArray *spec_change_lines(const RgPlan *plan, bool pools);

/* words.c: shared by the formats */
/* "will be created"; Terraform's phrase for the action of a change. */
const char *change_phrase(const RgPlanChange *change);
/* "+", "~", "-/+", "-", "." */
const char *change_symbol(const RgPlanChange *change);
unsigned drift_count(const RgDrift *drift, RgDriftType type);
/* Of what has changed, if that run may have changed it. */
#define INTERRUPTED "; an interrupted run of raygpu was updating it"
/* The address, else the kind and id; g_free. */
char *drift_name(const RgDriftItem *item);
/* "has been deleted", "has changed: tags, instance_state", ...; g_free. */
char *drift_phrase(const RgDriftItem *item);
/* The line below a table of prices that explains its marks; none without marks. */
void add_price_legend(GString *text, const RgPriceMarks *seen, const RgStyle *style);
/* Only the marks that are not in `told`, which it adds to it. */
void add_new_legend(
	GString *text, const RgPriceMarks *seen, RgPriceMarks *told, const RgStyle *style);
/* groups.c: RgDrift.groups */
void add_groups(GString *text, const json_t *groups, const RgStyle *style);

/* words.c: "1 imported, 2 added, 0 changed, 0 destroyed, 1 forgotten", as the last line of an apply
 * has it; `destroy`: only what a destroy does. g_free it. */
char *applied_counts(bool destroy, unsigned imported, unsigned added, unsigned changed,
	unsigned destroyed, unsigned forgotten);
