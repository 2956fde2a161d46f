#include "kubernetes/exec.h"
#include <string.h>

#define API "client.authentication.k8s.io/"
#define TIMEOUT_MS 60000

static const json_t *exec_of(const KubeConfig *config)
{
	return json_object_get(config->user, "exec");
}

static const char *hint_of(const json_t *exec)
{
	const char *hint = mod_str(exec, "installHint");
	return *hint ? hint : NULL;
}

rgp_status kube_exec_check(const ModTalk *talk, const KubeConfig *config)
{
	const json_t *exec = exec_of(config);
	const char *version = mod_str(exec, "apiVersion"), *mode = mod_str(exec, "interactiveMode");
	if (!*mod_str(exec, "command"))
		return kube_config_refuse(
			talk, config, NULL, "exec of user %s has no command", config->user_name);
	if (strcmp(version, API "v1") && strcmp(version, API "v1beta1"))
		return kube_config_refuse(talk, config,
			"current versions of the cluster's tool write " API "v1beta1 or v1",
			"exec of user %s has the apiVersion \"%s\", which raygpu does not know",
			config->user_name, version);
	if (!*mode && g_str_equal(version, API "v1"))
		return kube_config_refuse(talk, config, "add interactiveMode: Never",
			"exec of user %s has no interactiveMode, which " API "v1 requires",
			config->user_name);
	if (g_str_equal(mode, "Always"))
		return kube_config_refuse(talk, config,
			"sign in with the cluster's tool first, and set interactiveMode: "
			"IfAvailable",
			"exec of user %s asks questions (interactiveMode: Always), which raygpu "
			"cannot "
			"answer",
			config->user_name);
	return RGP_OK;
}

/* ---- what the plug-in gets */

static json_t *extension_of(const json_t *cluster)
{
	mod_foreach (extension, json_object_get(cluster, "extensions"))
		if (g_str_equal(mod_str(extension, "name"), "client.authentication.k8s.io/exec"))
			return json_object_get(extension, "extension");
	return NULL;
}

static json_t *cluster_info(const KubeConfig *config)
{
	json_t *info = json_pack("{s:s}", "server", config->server);
	const char *authority = mod_str(config->connection, "ca_pem");
	static const char *const members[] = {"tls-server-name", "proxy-url"};
	for (size_t i = 0; i < G_N_ELEMENTS(members); i++)
		if (*mod_str(config->cluster, members[i]))
			json_object_set(
				info, members[i], json_object_get(config->cluster, members[i]));
	if (*authority) {
		g_autofree char *data =
			g_base64_encode((const guchar *)authority, strlen(authority));
		json_object_set_new(info, "certificate-authority-data", json_string(data));
	}
	if (extension_of(config->cluster))
		json_object_set(info, "config", extension_of(config->cluster));
	return info;
}

static char *exec_info(const KubeConfig *config)
{
	const json_t *exec = exec_of(config);
	json_auto_t *info =
		json_pack("{s:s, s:s, s:{s:b}}", "apiVersion", mod_str(exec, "apiVersion"), "kind",
			"ExecCredential", "spec", "interactive", false);
	if (json_is_true(json_object_get(exec, "provideClusterInfo")))
		json_object_set_new(json_object_get(info, "spec"), "cluster", cluster_info(config));
	char *text = json_dumps(info, JSON_COMPACT);
	char *variable = g_strconcat("KUBERNETES_EXEC_INFO=", text, NULL);
	free(text);
	return variable;
}

static GPtrArray *environment_of(const KubeConfig *config)
{
	GPtrArray *env = g_ptr_array_new_with_free_func(g_free);
	mod_foreach (entry, json_object_get(exec_of(config), "env"))
		if (*mod_str(entry, "name"))
			g_ptr_array_add(env, g_strconcat(mod_str(entry, "name"), "=",
						     mod_str(entry, "value"), NULL));
	g_ptr_array_add(env, exec_info(config));
	g_ptr_array_add(env, NULL);
	return env;
}

static GPtrArray *words_of(const KubeConfig *config)
{
	GPtrArray *words = g_ptr_array_new_with_free_func(g_free);
	const json_t *exec = exec_of(config);
	g_ptr_array_add(words, g_strdup(mod_str(exec, "command")));
	mod_foreach (word, json_object_get(exec, "args"))
		if (json_is_string(word))
			g_ptr_array_add(words, g_strdup(json_string_value(word)));
	g_ptr_array_add(words, NULL);
	return words;
}

/* ---- its answer */

static rgp_status refuse_answer(const ModTalk *talk, const KubeConfig *config, const char *why)
{
	return kube_config_refuse(talk, config, hint_of(exec_of(config)),
		"the credential plug-in %s of user %s %s", mod_str(exec_of(config), "command"),
		config->user_name, why);
}

static int64_t expiry_of(const json_t *status)
{
	g_autoptr(GDateTime) when =
		g_date_time_new_from_iso8601(mod_str(status, "expirationTimestamp"), NULL);
	return when ? g_date_time_to_unix(when) : 0;
}

static rgp_status read_answer(const ModTalk *talk, const KubeConfig *config,
	struct rgp_bytes output, json_t **status, int64_t *expires_s)
{
	json_auto_t *answer = json_loadb(output.data ? output.data : "", output.len, 0, NULL);
	const char *wanted = mod_str(exec_of(config), "apiVersion");
	const char *version = mod_str(answer, "apiVersion");
	json_t *given = json_object_get(answer, "status");
	bool pair = *mod_str(given, "clientCertificateData") && *mod_str(given, "clientKeyData");
	if (strcmp(mod_str(answer, "kind"), "ExecCredential"))
		return refuse_answer(talk, config, "did not print an ExecCredential");
	if (strcmp(version, wanted)) {
		g_autofree char *why = g_strdup_printf(
			"printed %s, but the kubeconfig requires %s", version, wanted);
		return refuse_answer(talk, config, why);
	}
	if (!*mod_str(given, "token") && !pair)
		return refuse_answer(
			talk, config, "printed neither a token nor a client certificate with key");
	talk->host->secret(talk->call, mod_bytes(mod_str(given, "token")));
	talk->host->secret(talk->call, mod_bytes(mod_str(given, "clientKeyData")));
	*expires_s = expiry_of(given);
	if (*expires_s && *expires_s <= talk->host->now(talk->call))
		return refuse_answer(talk, config, "printed a credential that has expired");
	*status = json_incref(given);
	return RGP_OK;
}

rgp_status kube_exec_run(
	const ModTalk *talk, const KubeConfig *config, json_t **status, int64_t *expires_s)
{
	g_autoptr(GPtrArray) words = words_of(config), env = environment_of(config);
	struct rgp_bytes output = {0};
	const struct rgp_exec_req req = {.size = sizeof req,
		.flags = RGP_EXEC_READING,
		.argv = (const char *const *)words->pdata,
		.env = (const char *const *)env->pdata,
		.timeout_ms = TIMEOUT_MS};
	rgp_status ran = talk->host->exec(talk->call, &req, &output);
	if (ran == RGP_CANCELED)
		return ran;
	if (ran != RGP_OK)
		return refuse_answer(talk, config, "did not succeed");
	return read_answer(talk, config, output, status, expires_s);
}
