#include "kubernetes/marks.h"
#include "common/talk.h"
#include "kubernetes/call.h"
#include "kubernetes/manifest.h"

#define CLUSTER KUBE_MARK "cluster"
#define LINEAGE KUBE_MARK "lineage"
#define ADDRESS KUBE_MARK "address"
#define TOKEN KUBE_MARK "token"
#define SPACE KUBE_MARK "namespace"

KubeMarks kube_marks_read(const json_t *object)
{
	const json_t *metadata = json_object_get(object, "metadata");
	const json_t *labels = json_object_get(metadata, "labels");
	const json_t *notes = json_object_get(metadata, "annotations");
	return (KubeMarks){.cluster = mod_str(labels, CLUSTER),
		.lineage = mod_str(labels, LINEAGE),
		.address = mod_str(notes, ADDRESS),
		.token = mod_str(notes, TOKEN),
		.space = mod_str(notes, SPACE)};
}

static json_t *member_of(json_t *object, const char *name)
{
	if (!json_is_object(json_object_get(object, name)))
		json_object_set_new(object, name, json_object());
	return json_object_get(object, name);
}

static void put(json_t *texts, const char *name, const char *value)
{
	if (*value)
		json_object_set_new(texts, name, json_string(value));
}

static void put_owner(json_t *metadata, const json_t *marks, const char *address)
{
	put(member_of(metadata, "labels"), CLUSTER, mod_str(marks, "cluster"));
	put(member_of(metadata, "labels"), LINEAGE, mod_str(marks, "lineage"));
	put(member_of(metadata, "annotations"), ADDRESS, address);
}

void kube_marks_put(json_t *object, const json_t *input, const char *space)
{
	static const char *const names[][2] = {{"commit", KUBE_MARK "commit"},
		{"run", KUBE_MARK "run"}, {"pool", KUBE_MARK "pool"}};
	const json_t *marks = json_object_get(input, "marks");
	const json_t *item = json_array_get(json_object_get(input, "items"), 0);
	json_t *metadata = member_of(object, "metadata");
	json_t *notes = member_of(metadata, "annotations");
	put_owner(metadata, marks, mod_str(item, "address"));
	put(notes, TOKEN, mod_str(input, "token"));
	put(notes, SPACE, space);
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
		put(notes, names[i][1], mod_str(marks, names[i][0]));
}

void kube_marks_renew(json_t *object, const json_t *item)
{
	put_owner(member_of(object, "metadata"), json_object_get(item, "marks"),
		mod_str(item, "address"));
}

char *kube_marks_selector(const char *cluster)
{
	return kube_selector(CLUSTER, cluster);
}
