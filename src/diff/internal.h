/* Private to src/diff: one running rg_diff. Everything belongs to the caller's thread. */
#pragma once
#include "diff/diff.h"

/* decide.md row 1b; row 1 itself makes no change */
#define ROW_UNMANAGED 1
/* what came with another resource and has no record */
#define ROW_FOUND 21

typedef struct {
	const RgSchema *schema;
	const RgResourceSet *desired; /* empty when destroying */
	const RgResourceSet *recorded, *observed;
	const RgDiffOptions *options;
	RgDiags *diags;
	RgDiff *diff;
	GHashTable *changes;  /* address -> RgChange* */
	GHashTable *left_out; /* addresses; NULL = none */
	GHashTable *replaced; /* addresses of --replace; NULL = none */
	GHashTable *strays;   /* address -> GPtrArray of const RgResource*: ours, no record */
	GHashTable *families; /* "kind.name" of all desired, for the reason of a deletion */
	GHashTable *fields;   /* FieldsKey* -> GArray of Field: see fields_of */
	RgDependencies *dependencies;
	GHashTable *kept;     /* RgChange*: stopped only because something may still use it */
	GHashTable *released; /* address -> const RgRelease*: it stays in the cloud */
	GHashTable *unread;   /* kind -> GPtrArray of RgChange*: row 15 */
} Differ;

/* One attribute in the spec and the record. Equal for all nodes that share both attribute objects,
 * so it is computed once for them; only the observed value is checked per node. */
typedef struct {
	const RgAttribute *attribute;
	const json_t *desired, *recorded; /* raw, with defaults; NULL = absent */
	json_t *want, *was;		  /* resolved; NULL = absent or unknown */
	bool compare_want, compare_was;	  /* the resolved value can be compared with the cloud */
	bool moved;			  /* the spec moved */
	bool unknown;			  /* want is known only after apply */
	bool opaque;			  /* refers to a sensitive output */
	bool readable;			  /* the cloud's value may be used */
	bool pinned;   /* computed: the recorded value must hold; nothing else is set */
	bool has_refs; /* the desired value contains references */
} Field;

/* Either may be NULL. Borrowed, GArray of Field. Everything that desired attributes refer to must
 * be decided first. */
const GArray *fields_of(Differ *differ, const RgResource *desired, const RgResource *recorded);
GHashTable *fields_table_new(void);

/* Only records change. */
static inline bool refreshes(const Differ *differ)
{
	return differ->options && differ->options->refresh_only;
}

/* change.c */
void change_settle(RgChange *change, RgAction action, RgGrade grade, int row);
void change_note(RgChange *change, const char *note);
void change_stop(RgChange *change, RgGrade grade, int row, const char *note);
/* The command that records what was found; g_free. */
char *import_command(const RgResource *stray);

/* decide.c: sets action, grade, row and attributes of a change whose dependencies are decided. */
void decide(Differ *differ, RgChange *change);
/* Row 23: such a resource, at an address of its own, is deleted; NULL: it is only reported. It is
 * then not unmanaged. */
const RgResource *take_left_behind(Differ *differ, const char *address);
void decide_left_behind(RgChange *change, const RgResource *stray);

/* unreachable.c: row 15 of one alone. Given up: another one is created in its place. */
bool is_given_up(const Differ *differ, const RgChange *change);
void decide_given_up(Differ *differ, RgChange *change, const char *why);
void decide_unreachable(Differ *differ, RgChange *change, const char *why);

/* release.c: which records are forgotten without a removal; decides one of them that the cloud
 * shows. */
void release_find(Differ *differ);
void decide_release(Differ *differ, RgChange *change, const RgRelease *release);
/* It keeps our marks after it was forgotten, so it is not unmanaged. */
bool release_keeps(const Differ *differ, const RgResource *observed);

/* scope.c: --target, --exclude, --replace. false and plan.target-unknown. */
bool scope_find(Differ *differ);
bool scope_replaces(const Differ *differ, const char *address);
void scope_guard(Differ *differ);

/* order.c */
void stops_spread(Differ *differ);
void order_edges(Differ *differ);
