/* The command line: one file a subcommand, each a row of the table in main.c. Only this folder
 * knows argv, the environment, the terminal and exit codes. */
#pragma once
#include "pipeline/pipeline.h"
#include "pipeline/specs.h"
#include "render/report.h"

#define EXIT_FINE 0
#define EXIT_ERROR 1
#define EXIT_CHANGES 2
#define EXIT_PARTIAL 3
#define EXIT_USAGE 4
#define EXIT_STALE 6
#define EXIT_INTERRUPTED 130

/* One run of the program. */
typedef struct Context {
	const struct Command *command;
	RgDiags *diags;
	/* common options */
	char *state_path, *trace_path, *cluster, *ref, *changed_since;
	char **provider_dirs;
	gboolean json, no_color;
	/* opened when needed */
	RgProviderHost *providers;
	RgStore *store;
	RgSession session;
	RgProgress *progress; /* of a running apply */
	bool several;	      /* one of several clusters is at hand */
	bool live;	      /* stderr is a terminal: a status line is redrawn */
	bool status_shown;
	RgStyle out, err;
	/* set by `raygpu completion`: options_parse hands each option over and the command ends */
	void (*list)(void *data, const GOptionEntry *entry);
	void *list_data;
} Context;

typedef struct Command {
	const char *name, *arguments, *summary, *details;
	int (*run)(Context *context, int argc, char **argv);
} Command;

#define REF_ENTRY(context)                                                                         \
	{                                                                                          \
		"ref", 0, 0, G_OPTION_ARG_STRING, &(context)->ref,                                 \
			"read the specs from this git commit, branch or tag", "REV"                \
	}
#define CHANGED_ENTRY(context)                                                                     \
	{                                                                                          \
		"changed-since", 0, 0, G_OPTION_ARG_STRING, &(context)->changed_since,             \
			"only specs that differ from where HEAD left REV", "REV"                   \
	}

const Command *commands_get(void); /* ends with a NULL name */

/* options.c: takes `entries` plus the common ones out of argv. false: usage error reported, or
 * help was printed (*exit_code tells). argv keeps the positional arguments, from argv[1]. */
bool options_parse(Context *context, const GOptionEntry *entries, int *argc, char ***argv,
	int min_arguments, int max_arguments, int *exit_code);
void print_program_help(void);

/* context.c */
void context_init(Context *context);
void context_clear(Context *context);
bool context_open_providers(Context *context);
/* Session for a command that reads only, or one that changes things (store and transport). */
bool context_open_session(Context *context, RgStoreMode mode);
const char *context_state_path(Context *context);
/* The cluster that a state command means: --cluster, or the only one. NULL and a diagnostic. */
char *context_one_cluster(Context *context);

/* output.c */
void out_text(const char *text);
void out_json(const json_t *value);
void err_text(Context *context, const char *text);
void print_diags(Context *context);
/* What GLib says of a file, in our words. */
void report_unwritable(Context *context, const char *code, const char *path, const GError *error);
void report_unreadable(Context *context, const char *path, const GError *error);
/* true when everything written to stdout got there */
bool out_close(void);
void status_progress(void *data, const char *stage, const char *what, size_t n, bool done);
/* RgHttpOptions.on_retry: a wait that somebody would wonder about; any thread */
void status_retry(
	void *data, const char *what, unsigned try_number, unsigned wait_ms, const char *why);
void status_clear(Context *context);

/* signals.c: SIGINT and SIGTERM counted on a thread of their own (design.md section 8, rule 5) */
void signals_start(void);
/* From now on a first signal lets requests end; before, only reading is cut short. */
void signals_now_changing(void);
int signals_level(void *unused); /* 0, 1, 2 */
bool signals_came(void *unused);
bool signals_cut_requests(void *unused); /* second signal, or 4.5 s after the first */

/* changes.c: what plan, apply, destroy and drift share */
typedef struct {
	char **targets, **excludes, **replaces;
	char *override; /* of the budget */
	gboolean no_settle;
} ChangeOptions;
#define CHANGE_ENTRIES(context, options)                                                           \
	{"target", 0, 0, G_OPTION_ARG_STRING_ARRAY, &(options).targets,                            \
		"only this address and what it needs; may be repeated", "ADDRESS"},                \
		{"exclude", 0, 0, G_OPTION_ARG_STRING_ARRAY, &(options).excludes,                  \
			"all but this address and what needs it", "ADDRESS"},                      \
		{"replace", 0, 0, G_OPTION_ARG_STRING_ARRAY, &(options).replaces,                  \
			"replace this resource though nothing asks for it", "ADDRESS"},            \
		{"no-settle", 0, 0, G_OPTION_ARG_NONE, &(options).no_settle,                       \
			"don't wait for young resources to show in the cloud", NULL},              \
	{                                                                                          \
		"cluster", 0, 0, G_OPTION_ARG_STRING, &(context)->cluster,                         \
			"work from the state alone on this cluster", "NAME"                        \
	}
#define OVERRIDE_ENTRY(options)                                                                    \
	{                                                                                          \
		"override-budget", 0, 0, G_OPTION_ARG_STRING, &(options).override,                 \
			"exceed the budget all the same; the log keeps the reason", "REASON"       \
	}
void change_options_use(Context *context, const ChangeOptions *options, bool destroy);
void change_options_clear(ChangeOptions *options);
bool change_options_check(Context *context, ChangeOptions *options);
/* The pass for SPEC, or for --cluster from the state. */
RgPass *run_pass(Context *context, const char *spec_path);

/* specs.c */
/* The specs that the arguments name, cluster.yaml without any, and a note on what was passed over.
 * NULL and a diagnostic; also when a folder has none. */
#define DEFAULT_SPEC "cluster.yaml"
bool spec_is_here(Context *context); /* the default one; else a diagnostic */
RgSpecs *specs_of(Context *context, int argc, char **argv);

/* note.c: a run of `raygpu log` for a command that changes the state alone. Its id, g_free it; NULL
 * and diagnostics. `place`: cluster, provider, region, config. */
char *note_begin(Context *context, const char *command, const RgRunBegin *place);
json_t *note_meta(const char *command); /* who runs it, new reference */
/* true when `done` and written */
bool note_end(Context *context, const char *run, bool done);

/* move.c: state mv, under the lock unless `dry_run`; two addresses */
int state_move(Context *context, const RgSnapshot *snapshot, char **addresses, bool dry_run);
/* pull.c, push.c: the state as a document. `out` NULL: to stdout; `file` may be "-". */
int state_pull(Context *context, const char *out, bool redact);
typedef struct {
	bool force, dry_run;
	unsigned lock_timeout_ms;
} PushOptions;
int state_push(Context *context, const char *file, const PushOptions *options);
/* orphans.c */
int state_orphans(Context *context);
/* rebuild.c: spec and lineage may be NULL */
int state_rebuild(
	Context *context, const char *spec, const char *lineage, unsigned lock_timeout_ms);

/* report.c: what plan and drift print, and write beside it */
typedef struct {
	char *format, *json_into, *gitlab;
	char **reports; /* "FORMAT=FILE" */
	RgReportFormat kind;
} ReportOptions;
#define REPORT_ENTRIES(options)                                                                    \
	{"format", 0, 0, G_OPTION_ARG_STRING, &(options).format, "what to print (text)",           \
		RG_REPORT_FORMATS},                                                                \
		{"json-into", 0, 0, G_OPTION_ARG_FILENAME, &(options).json_into,                   \
			"also write the JSON to FILE", "FILE"},                                    \
		{"report", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &(options).reports,                  \
			"also write a report; may be repeated", "FORMAT=FILE"},                    \
	{                                                                                          \
		"report-gitlab", 0, 0, G_OPTION_ARG_FILENAME, &(options).gitlab,                   \
			"write the counts for GitLab's merge request widget", "FILE"               \
	}
bool report_options_check(Context *context, ReportOptions *options);
void report_options_clear(ReportOptions *options);
bool reports_write(Context *context, const ReportOptions *options, const RgReports *reports);
/* The same of one cluster. plan and drift may be NULL: then the diagnostics are the report. false:
 * a file can't be written. */
bool report_write(
	Context *context, const ReportOptions *options, const RgPlan *plan, const RgDrift *drift);

/* several.c: plan and drift over several clusters, and what apply has of it */
/* Fills in plan or drift (given away), with diagnostics in context->diags; the exit code. */
typedef int (*Step)(Context *context, RgReport *report, void *data);
int several_run(Context *context, const ReportOptions *options, const RgSpecs *specs, Step step,
	void *data);
/* 130, 3, 1, 4, 7, 8, 9, 5, 6, 2, 0: the first of them that is among the two. */
int worst_exit_code(int a, int b);
/* "[2/5] research (clusters/research.yaml)" to standard error. */
void tell_turn(Context *context, size_t i, size_t n, const char *cluster, const char *spec);
/* RgRemoved*, with a warning for each that runs; needs the store. Borrows from `specs`. */
GPtrArray *removed_clusters(Context *context, const RgSpecs *specs);
/* false and a diagnostic when an option means one cluster. */
bool several_allows(Context *context, const ChangeOptions *options);

int cmd_apply(Context *context, int argc, char **argv);
int cmd_completion(Context *context, int argc, char **argv);
int cmd_cost(Context *context, int argc, char **argv);
int cmd_destroy(Context *context, int argc, char **argv);
int cmd_drift(Context *context, int argc, char **argv);
int cmd_fit(Context *context, int argc, char **argv);
int cmd_graph(Context *context, int argc, char **argv);
int cmd_import(Context *context, int argc, char **argv);
int cmd_init(Context *context, int argc, char **argv);
int cmd_log(Context *context, int argc, char **argv);
int cmd_offers(Context *context, int argc, char **argv);
int cmd_plan(Context *context, int argc, char **argv);
int cmd_providers(Context *context, int argc, char **argv);
/* `raygpu providers check FILE`, the arguments after the word (check.c). */
typedef struct {
	char *region, *endpoint, *config, *type;
	gint wait_s;
} CheckOptions;
int providers_check(Context *context, const char *file, const CheckOptions *options);
int cmd_show(Context *context, int argc, char **argv);
int cmd_state(Context *context, int argc, char **argv);
int cmd_validate(Context *context, int argc, char **argv);
int cmd_version(Context *context, int argc, char **argv);

/* The plan file at `path`, or NULL with a diagnostic. `is_plan` (may be NULL): false when it is a
 * spec and no diagnostic was made. */
RgPlan *plan_file_load(Context *context, const char *path, bool *is_plan);
bool plan_file_save(Context *context, const char *path, const RgPlan *plan);
