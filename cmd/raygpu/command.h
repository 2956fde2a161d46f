/* The command line: one file per subcommand, each a row of the table in main.c; README.md lists the
 * folders. Only this folder deals with argv, the environment, the terminal and exit codes. */
#pragma once
#include "adopt/adopt.h"
#include "objects/objects.h"
#include "render/report/report.h"
#include <stdio.h>

#define EXIT_FINE 0
#define EXIT_ERROR 1
#define EXIT_CHANGES 2
#define EXIT_PARTIAL 3
#define EXIT_USAGE 4
#define EXIT_STALE 6
#define EXIT_INTERRUPTED 130

typedef struct RgRunBegin RgRunBegin; /* state/write.h */
typedef struct Stream Stream;

/* One run of the program. */
typedef struct Context {
	const struct Command *commands; /* all, ends with a NULL name */
	const struct Command *command;
	RgDiags *diags;
	/* common options */
	char *state_path, *state_shown, *trace_path, *cluster, *ref, *changed_since;
	char *ref_name;	    /* `ref` as the user gave it, once that is the id of its commit */
	RgTrusted *trusted; /* with --ref and --changed-since */
	char *trusted_home; /* the folder that its project file is for; NULL: none */
	char **provider_dirs;
	gboolean json, no_color, verbose, summary;
	bool streams;	/* with --json, standard output gets a stream (stream.h) */
	Stream *stream; /* NULL: none */
	/* opened when needed */
	RgProviderHost *providers;
	RgObjectsHost objects;
	RgObjectStores stores; /* with `objects` */
	RgStore *store;
	RgSession session;
	char *key_text, *old_key_text; /* of the environment; locked memory, until they are read */
	RgKeys *keys;		       /* of sealed secrets in the state; NULL: none */
	bool no_keys;		       /* do without them */
	bool redacts_keys;	       /* their texts are registered with rg_redact_add */
	RgProgress *progress;	       /* of a running apply */
	bool told_old_place;	       /* of the state */
	bool state_unknown;	       /* the project file, which may name it, has faults */
	bool state_admits;	       /* RgSession.state_admits */
	bool told_state;	       /* that a change names another */
	bool several;		       /* one of several clusters is being processed */
	bool live;		       /* stderr is a terminal: a status line is redrawn */
	bool status_shown;
	RgStyle out, err;
	/* set by `raygpu completion`: options_parse passes each option to it and the command
	 * ends */
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
			"only specs changed since the merge base with REV", "REV"                  \
	}

#define DETAIL_ENTRIES(context)                                                                    \
	{"summary", 0, 0, G_OPTION_ARG_NONE, &(context)->summary,                                  \
		"pools and cost only, without the resources", NULL},                               \
	{                                                                                          \
		"verbose", 'v', 0, G_OPTION_ARG_NONE, &(context)->verbose,                         \
			"every attribute of every resource", NULL                                  \
	}

/* options.c: takes `entries` plus the common options out of argv. false: usage error reported, or
 * help was printed (*exit_code says which). argv keeps the positional arguments, from argv[1]. */
bool options_parse(Context *context, const GOptionEntry *entries, int *argc, char ***argv,
	int min_arguments, int max_arguments, int *exit_code);

/* help.c: `words` (ends with NULL) may name a subcommand; then its help is printed */
void print_program_help(const Command *commands);
void print_command_help(const Command *command, const GOptionEntry *entries,
	const GOptionEntry *common, char **words);

/* subcommands.c: what -h prints for `state list`, and which of the command's options it has */
typedef struct {
	const char *command, *name, *arguments, *summary, *details;
	const char *options; /* long names, separated by blanks */
} Subcommand;
/* `name` NULL: the first of the command's, the others follow. NULL: it has none. */
const Subcommand *subcommand_find(const char *command, const char *name);
bool subcommand_has_option(const Subcommand *sub, const char *option);
/* A diagnostic that names the nearest one. */
void subcommand_unknown(Context *context, const char *command, const char *name);

/* context.c */
void context_init(Context *context);
void context_clear(Context *context);
bool context_open_providers(Context *context);
RgHttpOptions context_http(const Context *context);
/* Where states that are neither files nor databases are; the context's. */
const RgObjectStores *context_stores(Context *context);

/* session.c */
/* Session for a command that only reads, or one that changes things (store and transport). */
bool context_open_session(Context *context, RgStoreMode mode);
/* Whether the open state records a cluster of this name; else a diagnostic. */
bool context_has_cluster(Context *context, const char *name);
/* The cluster that a state command means: --cluster, or the only one. NULL and a diagnostic. */
char *context_one_cluster(Context *context);

/* where.c: the state of a spec, of several, or of a saved plan, unless one was named; before it is
 * opened. false: they have no common state. */
void context_use_spec(Context *context, const char *spec);
bool context_use_specs(Context *context, const RgSpecs *specs);
bool context_use_plan(Context *context, const RgPlan *plan, const RgPlan *first);
/* From now on `ref` is the id of its commit in the repository around `path`, if there is one. */
void context_settle_ref(Context *context, const char *path);
/* In findings the commit has the user's name again. */
void context_name_ref(const Context *context, RgDiags *diags);
/* committed.c: whether a project file may name this place; else a diagnostic. */
bool committed_allows(Context *context, const RgProject *project, const char *place);
/* Without any of these, the working directory's. For messages: without credentials. */
const char *context_state_path(Context *context);
/* That state; NULL and diagnostics. */
RgStore *context_open_state(Context *context, RgStoreMode mode, RgDiags *diags);

/* keys.c: takes the keys of sealed secrets out of the environment. */
void keys_take(Context *context);
void keys_clear(Context *context);
/* Registers them, and those that are read later, with rg_redact_add. */
void keys_redact(Context *context);
/* The store seals and opens with them. */
bool keys_give(Context *context, RgStoreMode mode, RgStore *store);

/* recorded.c: the cluster of the spec (default: cluster.yaml if it is here), or that --cluster
 * names, or the only one; its provider's schema. NULL and a diagnostic. */
RgSnapshot *recorded_cluster(Context *context, const char *spec, const RgSchema **schema);

/* blocks.c: `raygpu offers --blocks`, for each pool of a spec, or for a query. */
typedef struct {
	const char *provider, *region; /* of a query */
	const char *from, *to;	       /* NULL: any time */
	int nodes;		       /* 0: as many as the pool has, or 1 */
	int days;
} BlockOptions;
void blocks_run(Context *context, const BlockOptions *options, const char *spec, const char *query);

/* out.c: standard output */
void out_put(const char *text, FILE *to); /* the one door of texts */
void out_text(const char *text);
void out_script(const char *text); /* unchanged: our own text, or commands for a CI system */
void out_document(const char *json);
bool out_has_document(void); /* one was printed */
void out_json(const json_t *value);
/* true if everything written to stdout arrived */
bool out_close(void);

/* output.c: messages */
void err_text(Context *context, const char *text);
void print_diags(Context *context, const RgDiags *diags);
/* GLib's error about a file, in our words. */
void report_unwritable(Context *context, const char *path, const GError *error);
void report_unreadable(Context *context, const char *path, const GError *error);
void status_progress(void *data, const char *stage, const char *what, size_t n, bool done);
/* RgHttpOptions.on_retry: a wait long enough to be noticed; any thread */
void status_retry(
	void *data, const char *what, unsigned try_number, unsigned wait_ms, const char *why);
/* RgSession.waiting, and rg_store_set_waiting: in CI logs too */
void status_waiting(void *data, const char *line);
void status_lock(void *data, const char *cluster, const char *holder, unsigned left_s);
void status_clear(Context *context);

/* confirm.c: whether the user answers "yes"; else a diagnostic: `what` was cancelled, or, without a
 * terminal, what to do `otherwise`. */
bool confirm(Context *context, const char *question, const char *what, const char *otherwise);

/* guards.c: out of memory, limits on files, core files; called first */
void guards_start(void);
/* exits.c: from then on a library that ends this process gets an error and EXIT_ERROR. */
void exits_start(void);
/* Without handlers, flush or explanation. Any thread. */
G_GNUC_NORETURN void exits_end_now(int status);

/* signals.c: SIGINT and SIGTERM, counted by a separate thread. After the first one nothing new
 * starts and requests in flight may end; the second one stops immediately (apply/apply.h, rule
 * 5). */
void signals_start(void);
/* From now on a first signal lets requests end; before, it only interrupts reads. */
void signals_now_changing(void);
int signals_level(void *unused); /* 0, 1, 2 */
bool signals_came(void *unused);
bool signals_cut_requests(void *unused); /* second signal, or 4.5 s after the first */

/* changes.c: shared by plan, apply, destroy and drift */
typedef struct {
	char **targets, **excludes, **replaces;
	char *override; /* of the budget */
	gboolean no_settle, skip_preflight, refresh_only;
} ChangeOptions;
#define CHANGE_ENTRIES(context, options)                                                           \
	{"target", 0, 0, G_OPTION_ARG_STRING_ARRAY, &(options).targets,                            \
		"only this address and what it depends on; may be repeated", "ADDRESS"},           \
		{"exclude", 0, 0, G_OPTION_ARG_STRING_ARRAY, &(options).excludes,                  \
			"everything except this address and its dependents", "ADDRESS"},           \
		{"replace", 0, 0, G_OPTION_ARG_STRING_ARRAY, &(options).replaces,                  \
			"replace this resource even if nothing requires it", "ADDRESS"},           \
		{"no-settle", 0, 0, G_OPTION_ARG_NONE, &(options).no_settle,                       \
			"do not wait for new resources to become visible", NULL},                  \
	{                                                                                          \
		"cluster", 0, 0, G_OPTION_ARG_STRING, &(context)->cluster,                         \
			"work from the state alone on this cluster", "NAME"                        \
	}
#define OVERRIDE_ENTRY(options)                                                                    \
	{                                                                                          \
		"override-budget", 0, 0, G_OPTION_ARG_STRING, &(options).override,                 \
			"override the budget; the log keeps the reason", "REASON"                  \
	}
#define REFRESH_ENTRY(options)                                                                     \
	{                                                                                          \
		"refresh-only", 0, 0, G_OPTION_ARG_NONE, &(options).refresh_only,                  \
			"only record what was changed outside raygpu", NULL                        \
	}
#define PREFLIGHT_ENTRY(options)                                                                   \
	{                                                                                          \
		"skip-preflight", 0, 0, G_OPTION_ARG_NONE, &(options).skip_preflight,              \
			"do not check quota and permissions beforehand", NULL                      \
	}
void change_options_use(Context *context, const ChangeOptions *options, bool destroy);
void change_options_clear(ChangeOptions *options);
bool change_options_check(Context *context, ChangeOptions *options);
/* The pass for SPEC, or for --cluster from the state; `loaded`: from rg_pipeline_load, if the spec
 * has already been read (takes ownership; may be NULL). */
RgPass *make_pass(Context *context, const char *spec_path, RgPass *loaded, RgDiags *diags);

/* drift.c: what the cloud and Ray show of the cluster of a spec, or of --cluster (spec_path NULL).
 * NULL: diagnostics. `pass` is NULL before; the caller frees both. */
RgDrift *drift_look(
	Context *context, const ChangeOptions *options, const char *spec_path, RgPass **pass);

/* specs.c */
/* The specs that the arguments name, cluster.yaml without any, and a note about skipped files. NULL
 * and a diagnostic, also if a folder has none. */
#define DEFAULT_SPEC "cluster.yaml"
bool spec_is_here(Context *context); /* the default one; else a diagnostic */
RgSpecs *specs_of(Context *context, int argc, char **argv);
/* The same, and their common state. */
RgSpecs *specs_with_state(Context *context, int argc, char **argv);

/* note.c: a run of `raygpu log` for a command that changes only the state. Its id, g_free it; NULL
 * and diagnostics. `place`: cluster, provider, region, config. */
char *note_begin(Context *context, const char *command, const RgRunBegin *place);
json_t *note_meta(const char *command); /* the user, new reference */
/* true if `done` and written */
bool note_end(Context *context, const char *run, bool done);

/* move.c: state mv, under the lock unless `dry_run`; two addresses */
int state_move(Context *context, const RgSnapshot *snapshot, char **addresses, bool dry_run);
/* unlock.c */
int state_unlock(Context *context, const char *id);
/* pull.c, push.c: the state as a document. `out` NULL: to stdout; `file` may be "-". */
/* hardware.c */
int state_hardware(Context *context, const RgSnapshot *snapshot);
int state_forget_hardware(Context *context, const RgSnapshot *snapshot, char **gpus, int n);
int state_pull(Context *context, const char *out, bool redact);
typedef struct {
	bool force, dry_run;
	unsigned lock_timeout_ms;
} PushOptions;
int state_push(Context *context, const char *file, const PushOptions *options);
/* migrate.c: both are places */
int state_migrate(
	Context *context, const char *from, const char *to, bool dry_run, unsigned timeout_ms);
/* rekey.c: seals all secrets of the state with the current key */
typedef struct {
	bool unseal; /* none is sealed any more */
	unsigned lock_timeout_ms;
} RekeyOptions;
int state_rekey(Context *context, const RekeyOptions *options);
/* orphans.c */
int state_orphans(Context *context);
/* rebuild.c: spec, lineage and token_file may be NULL */
int state_rebuild(Context *context, const char *spec, const char *lineage, const char *token_file,
	unsigned timeout_ms);

/* report.c: what plan and drift print, and write to files in addition */
typedef struct {
	char *format, *json_into, *gitlab;
	char **reports; /* "FORMAT=FILE" */
	RgReportFormat kind;
} ReportOptions;
#define REPORT_ENTRIES(options)                                                                    \
	{"format", 0, 0, G_OPTION_ARG_STRING, &(options).format, "what to print (default: text)",  \
		RG_REPORT_FORMATS},                                                                \
		{"json-into", 0, 0, G_OPTION_ARG_FILENAME, &(options).json_into,                   \
			"also write what --json prints to FILE", "FILE"},                          \
		{"report", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &(options).reports,                  \
			"also write a report; may be repeated", "FORMAT=FILE"},                    \
	{                                                                                          \
		"report-gitlab", 0, 0, G_OPTION_ARG_FILENAME, &(options).gitlab,                   \
			"write the counts for GitLab's merge request widget", "FILE"               \
	}
bool report_options_check(Context *context, ReportOptions *options);
void report_options_clear(ReportOptions *options);
bool reports_write(Context *context, const ReportOptions *options, const RgReports *reports);
/* The same for one cluster, whose name and diagnostics are added. Without plan and drift, the
 * diagnostics are the report. false: a file cannot be written. */
bool report_write(Context *context, const ReportOptions *options, const RgReport *one);

/* several.c: plan and drift over several clusters, and the parts that apply shares */
/* Makes the report of one cluster: sets report->plan or report->drift, which the caller frees, and
 * adds to context->diags. Returns the exit code. */
typedef int (*Step)(Context *context, RgReport *report, void *data);
int several_run(Context *context, const ReportOptions *options, const RgSpecs *specs, Step step,
	void *data);
/* The first of 130, 3, 1, 4, 7, 8, 9, 5, 6, 2, 0 that is one of the two. */
int worst_exit_code(int a, int b);
/* "[2/5] research (clusters/research.yaml)" to standard error. */
void tell_turn(Context *context, size_t i, size_t n, const char *cluster, const char *spec);
/* RgRemoved*, with a warning for each that runs; needs the store. Borrows from `specs`. */
GPtrArray *removed_clusters(Context *context, const RgSpecs *specs);
/* false and a diagnostic if an option is for one cluster only. */
bool several_allows(Context *context, const ChangeOptions *options);

int cmd_apply(Context *context, int argc, char **argv);
int cmd_catalog(Context *context, int argc, char **argv);
int cmd_completion(Context *context, int argc, char **argv);
int cmd_connect(Context *context, int argc, char **argv);
int cmd_convert(Context *context, int argc, char **argv);
int cmd_cost(Context *context, int argc, char **argv);
int cmd_debug_bundle(Context *context, int argc, char **argv);
int cmd_destroy(Context *context, int argc, char **argv);
int cmd_doctor(Context *context, int argc, char **argv);
int cmd_drift(Context *context, int argc, char **argv);
int cmd_export(Context *context, int argc, char **argv);
int cmd_fit(Context *context, int argc, char **argv);
int cmd_graph(Context *context, int argc, char **argv);
int cmd_iam(Context *context, int argc, char **argv);
int cmd_import(Context *context, int argc, char **argv);
int cmd_init(Context *context, int argc, char **argv);
int cmd_log(Context *context, int argc, char **argv);
int cmd_logs(Context *context, int argc, char **argv);
int cmd_offers(Context *context, int argc, char **argv);
int cmd_output(Context *context, int argc, char **argv);
int cmd_plan(Context *context, int argc, char **argv);
int cmd_providers(Context *context, int argc, char **argv);
/* `raygpu providers check FILE`, the arguments after the word (check.c). */
typedef struct {
	char *region, *endpoint, *config, *type;
	gint wait_s;
} CheckOptions;
int providers_check(Context *context, const char *file, const CheckOptions *options);
int cmd_reap(Context *context, int argc, char **argv);
int cmd_show(Context *context, int argc, char **argv);
int cmd_status(Context *context, int argc, char **argv);
int cmd_state(Context *context, int argc, char **argv);
int cmd_validate(Context *context, int argc, char **argv);
int cmd_version(Context *context, int argc, char **argv);

/* The plan file at `path`, or NULL with a diagnostic. `is_plan` (may be NULL): false if it is a
 * spec and no diagnostic was made. */
RgPlan *plan_file_load(Context *context, const char *path, bool *is_plan);
bool plan_file_save(Context *context, const char *path, const RgPlan *plan);

/* places.c: the candidates of provider.any_of, as compared by `raygpu offers SPEC`
 * (pipeline/place.h) */
void places_print(const json_t *choice, const RgStyle *style);
bool places_have(const RgCluster *cluster, const char *provider, const char *region);
