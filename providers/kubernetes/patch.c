#include "kubernetes/patch.h"
#include "kubernetes/calls.h"

#define GROUPS "/spec/workerGroupSpecs"

static void op(json_t *ops, const char *name, const char *path, json_t *value)
{
	json_array_append_new(
		ops, json_pack("{s:s, s:s, s:o*}", "op", name, "path", path, "value", value));
}

/* The object is the one that was read. */
static void test_object(json_t *ops, const json_t *cluster)
{
	if (!json_array_size(ops))
		op(ops, "test", "/metadata/uid", json_string(kube_uid_of(cluster)));
}

/* And nobody has changed it: the server answers 409. A request that is sent again after a lost
 * answer does not add a group twice. */
static void lock_object(json_t *ops, const json_t *cluster)
{
	const json_t *metadata = json_object_get(cluster, "metadata");
	if (json_array_size(ops))
		return;
	test_object(ops, cluster);
	op(ops, "replace", "/metadata/resourceVersion",
		json_string(mod_str(metadata, "resourceVersion")));
}

static void test_group(json_t *ops, size_t index, const char *name)
{
	g_autofree char *path = g_strdup_printf(GROUPS "/%zu/groupName", index);
	op(ops, "test", path, json_string(name));
}

/* Attributes and the members of a group that they determine. */
static const char *const members[][2] = {{"template", "template"}, {"instance_type", "template"},
	{"market", "template"}, {"start_params", "rayStartParams"}, {"ray_labels", "labels"},
	{"min_replicas", "minReplicas"}, {"max_replicas", "maxReplicas"}, {"replicas", "replicas"}};

static bool is_touched(const json_t *item, const char *member)
{
	for (size_t i = 0; i < G_N_ELEMENTS(members); i++)
		if (g_str_equal(members[i][1], member) && mod_is_changed(item, members[i][0]))
			return true;
	return false;
}

static void put_member(
	json_t *ops, size_t index, const char *member, const json_t *wanted, const json_t *there)
{
	g_autofree char *path = g_strdup_printf(GROUPS "/%zu/%s", index, member);
	/* "add" replaces a member that is there */
	if (wanted)
		op(ops, "add", path, json_incref(mod_unconst(wanted)));
	else if (there)
		op(ops, "remove", path, NULL);
}

bool kube_patch_update(json_t *ops, const json_t *cluster, const char *name, const json_t *item)
{
	static const char *const all[] = {
		"template", "rayStartParams", "labels", "minReplicas", "maxReplicas", "replicas"};
	const json_t *attributes = json_object_get(item, "attributes");
	size_t index = 0;
	const json_t *there = kube_group_find(cluster, name, &index);
	json_auto_t *wanted = kube_group_to_api(attributes);
	bool tested = false;
	/* otherwise the number is the autoscaler's */
	bool fixed = json_object_get(attributes, "replicas") != NULL;
	for (size_t i = 0; there && i < G_N_ELEMENTS(all); i++) {
		if (!is_touched(item, all[i]) || (!fixed && g_str_equal(all[i], "replicas")))
			continue;
		test_object(ops, cluster);
		if (!tested)
			test_group(ops, index, name);
		tested = true;
		put_member(ops, index, all[i], json_object_get(wanted, all[i]),
			json_object_get(there, all[i]));
	}
	return there != NULL;
}

void kube_patch_add(json_t *ops, const json_t *cluster, const json_t *group)
{
	bool some = json_is_array(mod_at(cluster, GROUPS));
	lock_object(ops, cluster);
	if (!some)
		op(ops, "add", GROUPS, json_array());
	op(ops, "add", GROUPS "/-", json_incref(mod_unconst(group)));
}

static bool is_named(const json_t *names, const char *name)
{
	mod_foreach (entry, names)
		if (json_is_string(entry) && g_str_equal(json_string_value(entry), name))
			return true;
	return false;
}

void kube_patch_empty(json_t *ops, const json_t *cluster, const json_t *names)
{
	static const char *const numbers[] = {"minReplicas", "replicas", "maxReplicas"};
	size_t i;
	const json_t *group;
	json_array_foreach (mod_at(cluster, GROUPS), i, group) {
		const char *name = mod_str(group, "groupName");
		bool tested = false;
		for (size_t n = 0; n < G_N_ELEMENTS(numbers) && is_named(names, name); n++) {
			json_t *there = json_object_get(group, numbers[n]);
			if (json_integer_value(there) == 0 && there)
				continue;
			test_object(ops, cluster);
			if (!tested)
				test_group(ops, i, name);
			tested = true;
			g_autofree char *path = g_strdup_printf(GROUPS "/%zu/%s", i, numbers[n]);
			op(ops, "add", path, json_integer(0));
		}
	}
}

/* From the end, so that the places of the others stay. */
void kube_patch_remove(json_t *ops, const json_t *cluster, const json_t *names)
{
	const json_t *groups = mod_at(cluster, GROUPS);
	for (size_t i = json_array_size(groups); i-- > 0;) {
		const char *name = mod_str(json_array_get(groups, i), "groupName");
		if (!is_named(names, name))
			continue;
		g_autofree char *path = g_strdup_printf(GROUPS "/%zu", i);
		lock_object(ops, cluster);
		test_group(ops, i, name);
		op(ops, "remove", path, NULL);
	}
}
