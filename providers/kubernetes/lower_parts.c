/* What all parts of lower use: the settings, refusals, and the list of resources. */
#include "kubernetes/lower.h"

G_GNUC_PRINTF(4, 0)
static void refuse(KubeLowering *lowering, const char *origin, const char *hint, const char *format,
	va_list args)
{
	g_autofree char *summary = g_strdup_vprintf(format, args);
	mod_report_origin(lowering->talk, RGP_CLASS_INVALID, origin, summary, hint);
	lowering->status = RGP_FAIL;
}

void kube_lower_refuse(
	KubeLowering *lowering, const char *origin, const char *hint, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	refuse(lowering, origin, hint, format, args);
	va_end(args);
}

void kube_lower_refuse_field(KubeLowering *lowering, const json_t *node, const char *field,
	const char *hint, const char *format, ...)
{
	va_list args;
	g_autofree char *origin = g_strconcat(mod_str(node, "origin"), field, NULL);
	va_start(args, format);
	refuse(lowering, origin, hint, format, args);
	va_end(args);
}

json_t *kube_lower_setting(const KubeLowering *lowering, const char *name)
{
	return json_object_get(lowering->config, name);
}

json_t *kube_lower_quantity(const json_t *value)
{
	if (!json_is_integer(value))
		return json_incref(mod_unconst(value));
	return json_sprintf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
}

const json_t *kube_lower_former_settings(const KubeLowering *lowering, const json_t *node)
{
	return json_object_get(kube_lower_setting(lowering, "pods"), mod_str(node, "pool"));
}

const json_t *kube_lower_pod_settings(const KubeLowering *lowering, const json_t *node)
{
	const json_t *own = json_object_get(node, "config");
	return own ? own : kube_lower_former_settings(lowering, node);
}

char *kube_lower_pod_origin(const json_t *node, const char *name)
{
	return json_object_get(node, "config")
		       ? g_strconcat(mod_str(node, "origin"), "/provider/", name, NULL)
		       : g_strconcat("/provider/pods/", mod_str(node, "pool"), "/", name, NULL);
}

json_t *kube_lower_object(const KubeLowering *lowering, const char *name)
{
	json_t *labels = json_copy(json_object_get(lowering->fitted, "labels"));
	return json_pack(
		"{s:s, s:o}", "object_name", name, "labels", labels ? labels : json_object());
}

void kube_lower_add(KubeLowering *lowering, const KubeWanted *wanted)
{
	g_autofree char *name = g_strdelimit(g_strdup(wanted->name), ".", '-');
	g_autofree char *address = g_strdup_printf("%s.%s", wanted->kind, name);
	json_t *resource = json_pack("{s:s, s:s, s:s, s:n, s:s?, s:s, s:o, s:o}", "address",
		address, "kind", wanted->kind, "name", name, "index", "group", wanted->group,
		"origin", wanted->origin, "depends_on",
		wanted->depends_on ? wanted->depends_on : json_array(), "attributes",
		wanted->attributes);
	if (wanted->nodes)
		json_object_set_new(resource, "nodes", wanted->nodes);
	if (wanted->restart)
		json_object_set_new(resource, "restart", wanted->restart);
	json_array_append_new(lowering->resources, resource);
}

bool kube_lower_is_elastic(const json_t *node)
{
	return json_object_get(node, "max") != NULL;
}

bool kube_lower_has_elastic(const KubeLowering *lowering)
{
	mod_foreach (node, json_object_get(lowering->fitted, "nodes"))
		if (kube_lower_is_elastic(node))
			return true;
	return json_is_true(json_object_get(lowering->fitted, "elastic"));
}
