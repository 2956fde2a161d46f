#include "kubernetes/kubeconfig.h"
#include <string.h>
#include "base/loopback.h"
#include "kubernetes/document.h"

/* kubernetes.io/docs/tasks/run-application/access-api-from-pod */
#define POD_FOLDER "/var/run/secrets/kubernetes.io/serviceaccount/"
#define HOME_FILE "~/.kube/config"

void kube_config_clear(KubeConfig *config)
{
	g_free(config->server);
	g_free(config->namespace);
	g_free(config->source);
	g_free(config->user_name);
	g_free(config->context);
	json_decref(config->cluster);
	json_decref(config->user);
	json_decref(config->connection);
	*config = (KubeConfig){0};
}

rgp_status kube_config_refuse(
	const ModTalk *talk, const KubeConfig *config, const char *hint, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *why = g_strdup_vprintf(format, args);
	va_end(args);
	g_autofree char *summary = g_strdup_printf("%s: %s", config->source, why);
	mod_report_origin(talk, RGP_CLASS_DENIED, "/provider", summary, hint);
	return RGP_FAIL;
}

/* ---- files */

static const char *config_env(const ModTalk *talk, const char *name)
{
	const char *value = talk->host->env(talk->call, name);
	return value && *value ? value : NULL;
}

/* The names of files in an entry, relative to the folder of the kubeconfig. */
static void fix_path(json_t *entry, const char *name, const char *folder)
{
	const char *path = mod_str(entry, name);
	if (!*path || g_path_is_absolute(path) || g_str_has_prefix(path, "~/"))
		return;
	g_autofree char *whole = g_build_filename(folder, path, NULL);
	json_object_set_new(entry, name, json_string(whole));
}

/* A command with a slash is relative to the folder; one without is searched in PATH. */
static void fix_command(const ModTalk *talk, json_t *exec, const char *folder)
{
	const char *home = config_env(talk, "HOME");
	if (!strchr(mod_str(exec, "command"), '/'))
		return;
	g_autofree char *real = g_str_has_prefix(folder, "~") && home
					? g_strconcat(home, folder + 1, NULL)
					: g_strdup(folder);
	fix_path(exec, "command", real);
	/* the host searches names without a slash in PATH */
	if (!strchr(mod_str(exec, "command"), '/')) {
		g_autofree char *here = g_strconcat("./", mod_str(exec, "command"), NULL);
		json_object_set_new(exec, "command", json_string(here));
	}
}

static void fix_entry(const ModTalk *talk, json_t *entry, const char *folder)
{
	static const char *const names[] = {
		"certificate-authority", "client-certificate", "client-key", "tokenFile"};
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
		fix_path(entry, names[i], folder);
	json_t *exec = json_object_get(entry, "exec");
	if (json_is_object(exec))
		fix_command(talk, exec, folder);
}

static json_t *find_named(const json_t *list, const char *name)
{
	mod_foreach (entry, list)
		if (g_str_equal(mod_str(entry, "name"), name))
			return entry;
	return NULL;
}

static void merge_list(const ModTalk *talk, json_t *merged, const json_t *file, const char *list,
	const char *inner, const char *folder)
{
	json_t *into = json_object_get(merged, list);
	mod_foreach (entry, json_object_get(file, list))
		if (!find_named(into, mod_str(entry, "name"))) {
			fix_entry(talk, json_object_get(entry, inner), folder);
			json_array_append(into, entry);
		}
}

/* The first value of a name wins, and the first current-context. */
static void merge_file(
	const ModTalk *talk, json_t *merged, const json_t *file, const char *path, GString *paths)
{
	g_autofree char *folder = g_path_get_dirname(path);
	merge_list(talk, merged, file, "clusters", "cluster", folder);
	merge_list(talk, merged, file, "users", "user", folder);
	merge_list(talk, merged, file, "contexts", "context", folder);
	if (!*mod_str(merged, "current-context") && *mod_str(file, "current-context"))
		json_object_set(
			merged, "current-context", json_object_get(file, "current-context"));
	g_string_append_printf(paths, "%s%s", paths->len ? ":" : "", path);
}

/* A file that is named by KUBECONFIG or is the default may be missing. */
static rgp_status read_file(
	const ModTalk *talk, json_t *merged, const char *path, bool optional, GString *paths)
{
	struct rgp_bytes text = {0};
	KubeConfig named = {.source = (char *)(uintptr_t)path};
	g_autofree char *problem = NULL;
	if (talk->host->read_file(talk->call, path, &text) != RGP_OK) {
		if (optional)
			return RGP_OK;
		return kube_config_refuse(
			talk, &named, "check `kubeconfig` of provider", "the file cannot be read");
	}
	json_auto_t *file = kube_yaml_read(text, &problem);
	if (!file)
		return kube_config_refuse(talk, &named,
			"`kubectl config view` shows whether the file is valid", "%s", problem);
	if (!json_is_object(file))
		return kube_config_refuse(talk, &named, NULL, "it is not a mapping");
	merge_file(talk, merged, file, path, paths);
	return RGP_OK;
}

/* Relative to the working directory, as kubectl reads the variable. */
static char *path_of_env(const char *name)
{
	return g_str_has_prefix(name, "~/") ? g_strdup(name) : g_canonicalize_filename(name, NULL);
}

static rgp_status read_all(
	const ModTalk *talk, const json_t *settings, json_t *merged, GString *paths)
{
	const char *named = mod_str(settings, "kubeconfig");
	const char *several = config_env(talk, "KUBECONFIG");
	if (*named)
		return read_file(talk, merged, named, false, paths);
	if (!several)
		return read_file(talk, merged, HOME_FILE, true, paths);
	g_auto(GStrv) list = g_strsplit(several, ":", -1);
	rgp_status status = RGP_OK;
	for (size_t i = 0; list[i] && status == RGP_OK; i++) {
		g_autofree char *path = path_of_env(list[i]);
		if (*list[i])
			status = read_file(talk, merged, path, true, paths);
	}
	return status;
}

/* ---- what is in them */

rgp_status kube_config_pem(const ModTalk *talk, const KubeConfig *config, const json_t *entry,
	const char *name, char **pem)
{
	g_autofree char *member = g_strconcat(name, "-data", NULL);
	const char *data = mod_str(entry, member), *path = mod_str(entry, name);
	struct rgp_bytes text = {0};
	*pem = NULL;
	if (*data) {
		gsize len;
		*pem = (char *)g_base64_decode(data, &len);
		if (len && !memchr(*pem, '\0', len))
			return RGP_OK;
		g_clear_pointer(pem, g_free);
		return kube_config_refuse(
			talk, config, NULL, "%s is not the base64 of a PEM file", member);
	}
	if (!*path)
		return RGP_OK;
	if (talk->host->read_file(talk->call, path, &text) != RGP_OK)
		return kube_config_refuse(
			talk, config, NULL, "the %s %s cannot be read", name, path);
	*pem = g_strndup(text.data, text.len);
	return RGP_OK;
}

static rgp_status check_server(const ModTalk *talk, KubeConfig *config)
{
	const char *server = mod_str(config->cluster, "server");
	g_autofree char *lower = g_ascii_strdown(server, -1);
	if (json_is_true(json_object_get(config->cluster, "insecure-skip-tls-verify")))
		return kube_config_refuse(talk, config,
			"give the cluster's certificate-authority; a server whose name differs "
			"needs "
			"tls-server-name",
			"insecure-skip-tls-verify would send the credentials to any server");
	if (!g_str_has_prefix(lower, "https://") && !g_str_has_prefix(lower, "http://"))
		return kube_config_refuse(talk, config, NULL,
			"the cluster's server \"%s\" is not an http:// or https:// URL", server);
	bool proxied = *mod_str(config->cluster, "proxy-url");
	if (g_str_has_prefix(lower, "http://") && (proxied || !rg_is_loopback_url(server)))
		return kube_config_refuse(talk, config, "use its https:// URL",
			"the cluster's server %s would get the credentials unencrypted", server);
	config->server = g_strdup(server);
	return RGP_OK;
}

static rgp_status read_cluster(const ModTalk *talk, KubeConfig *config)
{
	static const char *const members[][2] = {
		{"tls-server-name", "server_name"}, {"proxy-url", "proxy_url"}};
	g_autofree char *authority = NULL;
	if (check_server(talk, config) != RGP_OK ||
		kube_config_pem(talk, config, config->cluster, "certificate-authority",
			&authority) != RGP_OK)
		return RGP_FAIL;
	config->connection = json_object();
	if (authority)
		json_object_set_new(config->connection, "ca_pem", json_string(authority));
	for (size_t i = 0; i < G_N_ELEMENTS(members); i++)
		if (*mod_str(config->cluster, members[i][0]))
			json_object_set(config->connection, members[i][1],
				json_object_get(config->cluster, members[i][0]));
	return RGP_OK;
}

static json_t *entry_of(const json_t *merged, const char *list, const char *inner, const char *name)
{
	json_t *entry = json_object_get(find_named(json_object_get(merged, list), name), inner);
	return json_is_object(entry) ? json_incref(entry) : NULL;
}

static rgp_status refuse_context(
	const ModTalk *talk, const KubeConfig *config, const json_t *merged, const char *name)
{
	g_autoptr(GString) known = g_string_new(NULL);
	mod_foreach (entry, json_object_get(merged, "contexts"))
		g_string_append_printf(
			known, "%s%s", known->len ? ", " : "", mod_str(entry, "name"));
	g_autofree char *hint = g_strdup_printf("the contexts are: %s", known->str);
	if (!*name)
		return kube_config_refuse(talk, config, known->len ? hint : NULL,
			"no context is current: set `context` of provider, or use `kubectl config "
			"use-context`");
	return kube_config_refuse(
		talk, config, known->len ? hint : NULL, "there is no context \"%s\"", name);
}

static rgp_status read_context(const ModTalk *talk, const json_t *settings, const json_t *merged,
	const GString *paths, KubeConfig *config)
{
	const char *name = mod_str(settings, "context");
	config->source = g_strdup(paths->str);
	if (!*name)
		name = mod_str(merged, "current-context");
	json_auto_t *context = entry_of(merged, "contexts", "context", name);
	if (!context)
		return refuse_context(talk, config, merged, name);
	g_free(config->source);
	config->context = g_strdup(name);
	config->source = g_strdup_printf("the context %s of %s", name, paths->str);
	const char *cluster = mod_str(context, "cluster"), *user = mod_str(context, "user");
	config->cluster = entry_of(merged, "clusters", "cluster", cluster);
	config->user = *user ? entry_of(merged, "users", "user", user) : json_object();
	config->user_name = g_strdup(user);
	config->namespace = g_strdup(mod_str(context, "namespace"));
	if (!config->cluster)
		return kube_config_refuse(
			talk, config, NULL, "there is no cluster \"%s\"", cluster);
	if (!config->user)
		return kube_config_refuse(talk, config, NULL, "there is no user \"%s\"", user);
	return RGP_OK;
}

/* ---- in a pod */

static rgp_status read_pod(const ModTalk *talk, KubeConfig *config)
{
	const char *host = config_env(talk, "KUBERNETES_SERVICE_HOST");
	const char *port = config_env(talk, "KUBERNETES_SERVICE_PORT");
	struct rgp_bytes space = {0};
	config->source = g_strdup("the service account of this pod");
	bool v6 = strchr(host, ':') != NULL;
	g_autofree char *server = g_strdup_printf(
		"https://%s%s%s:%s", v6 ? "[" : "", host, v6 ? "]" : "", port ? port : "443");
	config->cluster = json_pack(
		"{s:s, s:s}", "server", server, "certificate-authority", POD_FOLDER "ca.crt");
	config->user = json_pack("{s:s}", "tokenFile", POD_FOLDER "token");
	config->user_name = g_strdup("");
	if (talk->host->read_file(talk->call, POD_FOLDER "namespace", &space) == RGP_OK)
		config->namespace = g_strstrip(g_strndup(space.data, space.len));
	return RGP_OK;
}

static rgp_status refuse_nothing(const ModTalk *talk)
{
	mod_report_origin(talk, RGP_CLASS_DENIED, "/provider",
		"there is no kubeconfig, and raygpu does not run in a pod",
		"set `kubeconfig` of provider or KUBECONFIG, or create ~/.kube/config with the "
		"tool "
		"of your cluster");
	return RGP_FAIL;
}

rgp_status kube_config_find(const ModTalk *talk, const json_t *settings, KubeConfig *config)
{
	json_auto_t *merged = json_pack("{s:[], s:[], s:[]}", "clusters", "users", "contexts");
	g_autoptr(GString) paths = g_string_new(NULL);
	rgp_status status = read_all(talk, settings, merged, paths);
	if (status != RGP_OK)
		return status;
	if (paths->len)
		status = read_context(talk, settings, merged, paths, config);
	else if (config_env(talk, "KUBERNETES_SERVICE_HOST"))
		status = read_pod(talk, config);
	else
		status = refuse_nothing(talk);
	if (status != RGP_OK || read_cluster(talk, config) != RGP_OK)
		return RGP_FAIL;
	const char *space = mod_str(settings, "namespace");
	if (*space || !config->namespace || !*config->namespace) {
		g_free(config->namespace);
		config->namespace = g_strdup(*space ? space : "default");
	}
	return RGP_OK;
}
