/* Private to src/convert. launcher.c and manifest.c know the outline of a file; walk.c goes through
 * its keys; act.c does what the table's row says; out.c is the result. */
#pragma once
#include "catalog/table.h"
#include "convert/convert.h"
#include "spec/document.h"

/* ---- table.c: rows of a convert.csv */
typedef struct {
	const char *path; /* "node/docker/worker_image": without numbers of list items */
	const char *to;	  /* "node.disk.size"; empty: nothing */
	const char *how, *note;
} ConvertRule;
typedef struct ConvertTable ConvertTable;
ConvertTable *convert_table_new(const char *name, const char *text, size_t len, RgDiags *diags);
void convert_table_free(ConvertTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ConvertTable, convert_table_free)
/* `path`: of the file, where * of a row matches one step or a part of it. NULL: none. Further rows
 * of the same path follow it; the last row of all has no path. */
const ConvertRule *convert_table_find(const ConvertTable *table, const char *path);
/* Whether rows for members of `path` exist. */
bool convert_table_has_below(const ConvertTable *table, const char *path);
/* The rows whose path starts with `prefix`, in their order; NULL after the last one. */
const ConvertRule *convert_table_next(
	const ConvertTable *table, const char *prefix, const ConvertRule *after);
/* The known key below `path` that is nearest to `key`; NULL: none is near. g_free. */
char *convert_table_nearest(const ConvertTable *table, const char *path, const char *key);

/* ---- the result so far */
typedef enum {
	CONVERT_DONE,	 /* the spec has it */
	CONVERT_SAME,	 /* raygpu does so anyway */
	CONVERT_CHANGED, /* the spec has it, and it means something else */
	CONVERT_NONE,	 /* no counterpart, and the same machines without it */
	CONVERT_LOST,	 /* no counterpart: the cluster would be another one */
	CONVERT_UNKNOWN, /* no key of the form */
} ConvertOutcome;
typedef struct {
	char *pointer; /* in the file */
	ConvertOutcome outcome;
	char *to, *reason; /* may be NULL */
} ConvertKey;

/* Texts that make up one value: "n1-standard-8" "+" "nvidia-tesla-t4" ":" "1". */
#define CONVERT_PARTS 4
typedef struct {
	char *text, *pointer;
	const char *before;  /* what comes before it */
	const char *only_if; /* the first text begins with this; NULL: always */
	const char *same_if; /* or with one of these, which say the same: "a|b"; NULL: none */
} ConvertPart;
typedef struct {
	char *to;
	ConvertPart parts[CONVERT_PARTS];
} ConvertParts;

/* The head, or what becomes a pool. */
typedef struct {
	char *name; /* "head", or the pool's */
	bool is_head;
	const char *pointer;			     /* of its group in the file */
	json_t *value;				     /* that group */
	GPtrArray *parts;			     /* ConvertParts* */
	int64_t min, max, count, times;		     /* nodes, and how many of them go together */
	char *min_at, *max_at, *count_at, *times_at; /* pointers; NULL: not given */
	bool has_gpus;				     /* as the file says, with or without a model */
	bool own_setup, own_init;		     /* lists of commands of its own */
	char *image, *image_at;
} ConvertNode;

/* What every node gets, or the head, or every pool, unless it has its own. */
typedef struct {
	enum { CONVERT_NODES, CONVERT_HEAD, CONVERT_POOLS } scope;
	GStrv steps; /* below the node */
	json_t *value;
	char *pointer; /* in the file */
} ConvertDefault;

/* A value that counts unless another key sets its field. */
typedef struct {
	const ConvertRule *rule;
	ConvertNode *node;
	json_t *value;
	char *pointer;
} ConvertWeak;

typedef struct {
	RgDocument *document;
	RgProviderHost *providers;
	char *module, *form;
	GPtrArray *others;	  /* ConvertTable* of other modules, or NULL */
	ConvertTable *own, *core; /* of the module, may be NULL; of Ray's launcher, may be NULL */
	json_t *spec;
	GHashTable *comments; /* pointer in the spec -> char* */
	GHashTable *origins;  /* pointer in the spec -> pointer in the file */
	GHashTable *owners;   /* list of the spec -> ConvertNode* whose items came first */
	GPtrArray *keys;      /* ConvertKey* */
	GHashTable *seen;     /* set of their pointers */
	GPtrArray *nodes;     /* ConvertNode*, the head first */
	GPtrArray *defaults;  /* ConvertDefault* */
	GHashTable *names;    /* set of those of pools, and "head" */
	GPtrArray *weak;      /* ConvertWeak* */
	bool is_elastic;      /* the module has pools between limits */
	bool has_secrets;     /* its lines are not shown */
	bool autoscales;      /* the file turns Ray's autoscaler on */
	int64_t max_workers;  /* of the cluster; negative: not given */
	/* images and versions (image.c) */
	char *image, *image_at, *head_image, *head_image_at, *worker_image, *worker_image_at;
	char *version, *version_at, *python;
	/* lists of commands, or NULL (commands.c) */
	const json_t *setup, *head_setup, *worker_setup, *init;
	char *setup_at, *head_setup_at, *worker_setup_at, *init_at;
	GPtrArray *zoned; /* pointers in the file: values that need a zone; `zoned_to` */
	const char *zoned_to;
	RgDiags *diags;
} Convert;

/* One value of the file on its way into the spec. */
typedef struct {
	const char *pointer, *path; /* in the file; in the tables */
	json_t *value;
	ConvertNode *node; /* NULL: it is the cluster's */
	const char *name;  /* what * in a row's field is; NULL: the last step of the pointer */
} ConvertAt;

/* out.c */
const ConvertRule *convert_find(const Convert *convert, const char *path);
void convert_key(Convert *convert, const char *pointer, ConvertOutcome outcome, const char *to,
	const char *reason);
/* Sets a value of the spec unless it has another one already: then false. `to`: "provider.region";
 * "node.disk.size" of at->node, or of all nodes; steps "NODE" and "*" are the pool's name and the
 * key. `value` is stolen. Does not note the key. */
bool convert_set(Convert *convert, const char *to, json_t *value, const ConvertAt *at);
/* The same, and the key is noted as converted, or as one too many. */
void convert_put(
	Convert *convert, const char *to, json_t *value, const ConvertAt *at, const char *note);
/* Sets what `steps` name; false if there is another value. */
bool convert_set_steps(Convert *convert, GStrv steps, json_t *value, const char *pointer);
char *convert_join(char *const *steps); /* as a pointer, g_free */
/* Steps below a node as steps below the spec. */
GStrv convert_below_node(const ConvertNode *node, char *const *steps);
/* "line 12: region" */
char *convert_comment(const Convert *convert, const char *pointer);
unsigned convert_line(const Convert *convert, const char *pointer);
/* `text` without line ends and control characters. g_free. */
char *convert_one_line(const char *text);
/* A comment at a value of the spec; takes it over. */
void convert_say(Convert *convert, const char *spec_pointer, char *comment);

/* value.c: the value after the words of a row that transform it; NULL: it has another form. A new
 * reference. *how is moved to the last word, which says where it goes. */
json_t *convert_value(Convert *convert, const json_t *value, const char *const **how);
/* A text, number or boolean as text; NULL otherwise. g_free. */
char *convert_scalar(const json_t *value);

/* nodes.c */
ConvertNode *convert_node_new(
	Convert *convert, const char *name, bool is_head, json_t *value, const char *pointer);
/* A name as the spec accepts it, not used by another pool. g_free. */
char *convert_name(Convert *convert, const char *name, const char *otherwise);
char *convert_cluster_name(const char *name);
/* No more pools: then the group is noted. */
bool convert_is_full(Convert *convert, const char *pointer);
/* One text of a value that has several; `text` is taken over. */
void convert_part(
	Convert *convert, const ConvertAt *at, const char *to, size_t part, ConvertPart given);
void convert_nodes_finish(Convert *convert);

/* commands.c */
void convert_commands(Convert *convert, const ConvertAt *at);
void convert_run_options(Convert *convert, const ConvertAt *at);
void convert_commands_finish(Convert *convert);

/* image.c */
void convert_image(Convert *convert, const ConvertAt *at);
void convert_ray_version(Convert *convert, const ConvertAt *at);
void convert_images_finish(Convert *convert);

/* secrets.c */
/* A warning if a text in the value, which goes into the spec, looks like a secret. `name`: of the
 * value, as people chose it, or NULL. `pointer`: where it is in the file. */
void convert_look_at(Convert *convert, const char *name, const json_t *value, const char *pointer);

/* act.c */
/* A number of nodes; `which`: min, max, count or times. */
void convert_count(Convert *convert, const ConvertAt *at, const json_t *value, const char *which);
void convert_act(Convert *convert, const ConvertRule *rule, const ConvertAt *at);

/* walk.c: all members of a value; members of `except` (NULL-ended) are the caller's. */
void convert_walk(Convert *convert, const ConvertAt *at, const char *const *except);
/* One value that is known to be there. */
void convert_visit(Convert *convert, const ConvertAt *at);
/* Notes every value that has not been noted, itself or as a part of something. */
void convert_sweep(Convert *convert);

/* launcher.c, manifest.c: false and diagnostics if it is not such a cluster */
bool convert_launcher(Convert *convert);
bool convert_manifest(Convert *convert);
