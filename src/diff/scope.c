#include "diff/internal.h"
#include <string.h>

/* --target, --exclude, --replace: which addresses a run leaves out. */

static const RgResource *any_of(const Differ *differ, const char *address)
{
	const RgResource *desired = rg_resource_set_find(differ->desired, address);
	return desired ? desired : rg_resource_set_find(differ->recorded, address);
}

/* Calls `found` once for each resource that is desired or recorded. */
static void each_resource(
	const Differ *differ, void (*found)(const RgResource *, void *), void *data)
{
	for (size_t i = 0; i < rg_resource_set_size(differ->desired); i++)
		found(rg_resource_set_get(differ->desired, i), data);
	rg_resource_foreach (recorded, differ->recorded) {
		if (!rg_resource_set_find(differ->desired, recorded->address))
			found(recorded, data);
	}
}

/* "kind.name" -> GPtrArray of addresses; addresses lead to themselves. */
static void add_name(const RgResource *resource, void *data)
{
	char *names[] = {g_strconcat(resource->kind, ".", resource->name, NULL),
		g_strdup(resource->address)};
	for (size_t i = 0; i < (resource->index < 0 ? 1u : 2u); i++) {
		GPtrArray *members = g_hash_table_lookup(data, names[i]);
		if (!members) {
			members = g_ptr_array_new();
			g_hash_table_insert(data, g_strdup(names[i]), members);
		}
		g_ptr_array_add(members, resource->address);
	}
	g_free(names[0]);
	g_free(names[1]);
}

/* "KIND.POOL" of a pool without nodes, now and afterwards. */
static bool is_empty_pool(const Differ *differ, const char *word)
{
	const char *dot = strrchr(word, '.');
	const GPtrArray *pools = differ->options->pools;
	if (!dot)
		return false;
	g_autofree char *kind_name = g_strndup(word, (gsize)(dot - word));
	const RgKind *kind = rg_schema_kind(differ->schema, kind_name);
	for (guint i = 0; kind && kind->node && pools && i < pools->len; i++) {
		if (g_str_equal(pools->pdata[i], dot + 1))
			return true;
	}
	return false;
}

/* A pool's name alone means its nodes. */
static const char *nearest_by_name(const Differ *differ, const char *word, const char *const *words)
{
	g_autoptr(GPtrArray) bare = g_ptr_array_new(), whole = g_ptr_array_new();
	for (; *words != NULL; words++) {
		const char *dot = strrchr(*words, '.');
		g_autofree char *kind_name = g_strndup(*words, (gsize)(dot - *words));
		const RgKind *kind = rg_schema_kind(differ->schema, kind_name);
		if (strchr(*words, '[') || !kind || !kind->node)
			continue;
		g_ptr_array_add(bare, (gpointer)(uintptr_t)(dot + 1));
		g_ptr_array_add(whole, (gpointer)(uintptr_t)*words);
	}
	g_ptr_array_add(bare, NULL);
	const char *near = rg_nearest_word(word, (const char *const *)bare->pdata);
	guint at = 0;
	return near && g_ptr_array_find(bare, near, &at) ? whole->pdata[at] : NULL;
}

static void report_unknown(
	const Differ *differ, GHashTable *names, const char *option, const char *word)
{
	g_autofree const char **words = (void *)g_hash_table_get_keys_as_array(names, NULL);
	const char *nearest = strchr(word, '.') ? rg_nearest_word(word, words)
						: nearest_by_name(differ, word, words);
	RgDiag *diag = rg_diags_error(differ->diags, "plan.target-unknown",
		"%s names `%s`, which is neither in the spec nor in the state", option, word);
	if (nearest)
		rg_diag_hint(diag, "did you mean `%s`?", nearest);
}

/* Adds the addresses that the words mean to `found`, an owned set. */
static bool find_words(
	const Differ *differ, GHashTable *names, const char *option, GStrv words, GHashTable *found)
{
	bool good = true;
	for (size_t i = 0; words && words[i]; i++) {
		const GPtrArray *members = g_hash_table_lookup(names, words[i]);
		if (!members && is_empty_pool(differ, words[i]))
			continue;
		if (!members) {
			report_unknown(differ, names, option, words[i]);
			good = false;
			continue;
		}
		for (guint m = 0; m < members->len; m++)
			g_hash_table_add(found, members->pdata[m]);
	}
	return good;
}

/* address -> GPtrArray of addresses: its dependents. For desired resources by what they will refer
 * to, for removals by what was recorded. */
static void add_dependents(const RgResource *resource, void *data)
{
	g_auto(GStrv) names = rg_resource_dependencies(resource);
	for (size_t i = 0; names[i] != NULL; i++) {
		GPtrArray *list = g_hash_table_lookup(data, names[i]);
		if (!list) {
			list = g_ptr_array_new();
			g_hash_table_insert(data, g_strdup(names[i]), list);
		}
		g_ptr_array_add(list, resource->address);
	}
}

static GHashTable *lists_new(void)
{
	return g_hash_table_new_full(
		g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
}

static void push(const Differ *differ, GHashTable *set, GPtrArray *queue, const char *address)
{
	const RgResource *resource = any_of(differ, address);
	if (resource && g_hash_table_add(set, resource->address))
		g_ptr_array_add(queue, resource->address);
}

/* Extends the set to everything that must accompany its members. A target includes what a desired
 * resource needs and what still depends on a removed one; an exclusion the reverse. */
static void widen(const Differ *differ, GHashTable *dependents, GHashTable *set, bool exclusion)
{
	g_autoptr(GPtrArray) queue = g_ptr_array_new();
	rg_hash_keys (char, member, set)
		g_ptr_array_add(queue, member);
	rg_ptr_foreach (const char, address, queue) {
		bool wanted = rg_resource_set_find(differ->desired, address) != NULL;
		if (wanted != exclusion) {
			g_auto(GStrv) names = rg_resource_dependencies(any_of(differ, address));
			for (size_t d = 0; names[d] != NULL; d++)
				push(differ, set, queue, names[d]);
			continue;
		}
		const GPtrArray *list = g_hash_table_lookup(dependents, address);
		for (guint d = 0; list && d < list->len; d++)
			push(differ, set, queue, list->pdata[d]);
	}
}

typedef struct {
	GHashTable *targets, *excludes; /* NULL = not requested */
	GHashTable *left_out;
} Choice;

static void choose(const RgResource *resource, void *data)
{
	const Choice *choice = data;
	bool in = !choice->targets || g_hash_table_contains(choice->targets, resource->address);
	if (choice->excludes && g_hash_table_contains(choice->excludes, resource->address))
		in = false;
	if (!in)
		g_hash_table_add(choice->left_out, resource->address);
}

bool scope_find(Differ *differ)
{
	const RgDiffOptions *options = differ->options;
	if (!options || (!options->targets && !options->excludes && !options->replace))
		return true;
	g_autoptr(GHashTable) names = lists_new(), dependents = lists_new();
	g_autoptr(GHashTable) targets = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GHashTable) excludes = g_hash_table_new(g_str_hash, g_str_equal);
	each_resource(differ, add_name, names);
	differ->replaced = g_hash_table_new(g_str_hash, g_str_equal);
	bool good = find_words(differ, names, "--target", options->targets, targets);
	good &= find_words(differ, names, "--exclude", options->excludes, excludes);
	good &= find_words(differ, names, "--replace", options->replace, differ->replaced);
	if (!good || (!options->targets && !options->excludes))
		return good;
	each_resource(differ, add_dependents, dependents);
	widen(differ, dependents, targets, false);
	widen(differ, dependents, excludes, true);
	differ->left_out = g_hash_table_new(g_str_hash, g_str_equal);
	Choice choice = {.targets = options->targets ? targets : NULL,
		.excludes = excludes,
		.left_out = differ->left_out};
	each_resource(differ, choose, &choice);
	return true;
}

bool scope_replaces(const Differ *differ, const char *address)
{
	return differ->replaced && g_hash_table_contains(differ->replaced, address);
}

/* A resource that no longer exists and is created again is another one at the same address: a
 * dependent that is left out would keep using the old one, and nothing would show it later. */
static const char *moves_away(const RgChange *change, const RgChange *left)
{
	switch (change->action) {
	case RG_ACTION_DELETE:
		return "deleted";
	case RG_ACTION_REPLACE:
		return "replaced";
	case RG_ACTION_CREATE:
		return change->recorded && left->observed ? "created again" : NULL;
	case RG_ACTION_NONE:
	case RG_ACTION_UPDATE:
	case RG_ACTION_RECORD:
	case RG_ACTION_FORGET:
	case RG_ACTION_RELEASE:
	case RG_ACTION_STOP:
		break;
	}
	return NULL;
}

static void guard(Differ *differ, RgChange *change, const RgChange *left)
{
	const char *how = moves_away(change, left);
	if (!how)
		return;
	RgDiag *diag = rg_diags_error(differ->diags, "diff.conflict",
		"`%s` cannot be %s while `%s`, which is excluded, depends on it", change->address,
		how, left->address);
	rg_diag_address(diag, change->address, NULL);
	rg_diag_hint(diag, "add `--target %s`, or exclude both", left->address);
	change_stop(
		change, RG_GRADE_CONFLICT, RG_ROW_LEFT_OUT, "an excluded resource depends on it");
}

/* What a left-out resource depends on must not change. */
void scope_guard(Differ *differ)
{
	GPtrArray *changes = differ->diff->changes;
	for (guint i = 0; differ->left_out && i < changes->len; i++) {
		const RgChange *left = changes->pdata[i];
		if (left->row != RG_ROW_LEFT_OUT || !left->recorded)
			continue;
		GStrv names = rg_dependencies_get(differ->dependencies, left->recorded);
		for (size_t d = 0; names[d] != NULL; d++) {
			RgChange *change = g_hash_table_lookup(differ->changes, names[d]);
			if (change)
				guard(differ, change, left);
		}
	}
}
