#include "kubernetes/login.h"
#include <string.h>
#include "kubernetes/exec.h"

#define REREAD_S 60 /* a token in a file is replaced without notice */

/* ---- checks */

static rgp_status check_forms(const ModTalk *talk, const KubeConfig *config)
{
	const json_t *user = config->user;
	if (json_object_get(user, "auth-provider"))
		return kube_config_refuse(talk, config,
			"newer versions of the cluster's tool write an exec plug-in instead",
			"user %s has an auth-provider, which Kubernetes removed in 1.26",
			config->user_name);
	if (*mod_str(user, "username") || *mod_str(user, "password"))
		return kube_config_refuse(talk, config,
			"use a token, a client certificate or an exec plug-in",
			"user %s has a name and a password, which API servers do not accept since "
			"1.19",
			config->user_name);
	return json_object_get(user, "exec") ? kube_exec_check(talk, config) : RGP_OK;
}

rgp_status kube_login_check(const ModTalk *talk, KubeLogin *login)
{
	const KubeConfig *config = login->config;
	g_autofree char *certificate = NULL, *key = NULL;
	if (check_forms(talk, config) != RGP_OK ||
		kube_config_pem(talk, config, config->user, "client-certificate", &certificate) !=
			RGP_OK ||
		kube_config_pem(talk, config, config->user, "client-key", &key) != RGP_OK)
		return RGP_FAIL;
	if (!certificate != !key)
		return kube_config_refuse(talk, config, NULL,
			"user %s has a client certificate or its key, but not both",
			config->user_name);
	login->certificate = json_object();
	if (!certificate)
		return RGP_OK;
	talk->host->secret(talk->call, mod_bytes(key));
	json_object_set_new(login->certificate, "cert_pem", json_string(certificate));
	json_object_set_new(login->certificate, "key_pem", json_string(key));
	return RGP_OK;
}

/* ---- impersonation */

static void add_header(GPtrArray *headers, const char *name, const char *value)
{
	if (*value)
		g_ptr_array_add(headers, g_strconcat(name, ": ", value, NULL));
}

/* The key is part of a header's name, percent-encoded (kubernetes.io/docs/reference/
 * access-authn-authz/authentication: user impersonation). */
static void add_extra(GPtrArray *headers, const char *key, const json_t *values)
{
	g_autofree char *lower = g_ascii_strdown(key, -1);
	g_autofree char *escaped = g_uri_escape_string(lower, NULL, FALSE);
	g_autofree char *name = g_strconcat("Impersonate-Extra-", escaped, NULL);
	mod_foreach (value, values)
		add_header(headers, name, json_is_string(value) ? json_string_value(value) : "");
}

GStrv kube_login_headers(const ModTalk *talk, const KubeConfig *config)
{
	GPtrArray *headers = g_ptr_array_new();
	const json_t *user = config->user;
	bool sound = true;
	add_header(headers, "Impersonate-User", mod_str(user, "as"));
	add_header(headers, "Impersonate-Uid", mod_str(user, "as-uid"));
	mod_foreach (group, json_object_get(user, "as-groups"))
		add_header(headers, "Impersonate-Group",
			json_is_string(group) ? json_string_value(group) : "");
	mod_foreach_member (key, values, json_object_get(user, "as-user-extra"))
		add_extra(headers, key, values);
	for (guint n = 0; n < headers->len; n++)
		sound = sound && !strpbrk(headers->pdata[n], "\r\n");
	g_ptr_array_add(headers, NULL);
	GStrv list = (GStrv)g_ptr_array_free(headers, FALSE);
	if (sound && (*mod_str(user, "as") || !*list))
		return list;
	g_strfreev(list);
	kube_config_refuse(talk, config, NULL,
		"`as` of user %s is missing, or one of its texts has a line break",
		config->user_name);
	return NULL;
}

/* ---- the lease */

static char *value_of(const KubeConfig *config, const json_t *certificate, const char *token)
{
	json_auto_t *connection = json_copy(config->connection);
	json_object_update(connection, mod_unconst(certificate));
	json_auto_t *value = json_pack("{s:O}", "connection", connection);
	if (*token)
		json_object_set_new(
			value, "auth", json_pack("{s:s, s:s}", "type", "bearer", "token", token));
	char *text = json_dumps(value, JSON_COMPACT);
	char *copy = g_strdup(text);
	free(text);
	return copy;
}

static rgp_status login_file(
	const ModTalk *talk, const KubeLogin *login, char **value, int64_t *expires_s)
{
	const KubeConfig *config = login->config;
	const char *path = mod_str(config->user, "tokenFile");
	struct rgp_bytes text = {0};
	if (talk->host->read_file(talk->call, path, &text) != RGP_OK)
		return kube_config_refuse(
			talk, config, NULL, "the token file %s cannot be read", path);
	g_autofree char *token = g_strstrip(g_strndup(text.data, text.len));
	if (!*token)
		return kube_config_refuse(talk, config, NULL, "the token file %s is empty", path);
	talk->host->secret(talk->call, mod_bytes(token));
	*value = value_of(config, login->certificate, token);
	/* the lease renews well before the end */
	*expires_s = talk->host->now(talk->call) + REREAD_S;
	return RGP_OK;
}

/* A kubeconfig is a program: who plans with one of others sees what ran. */
char *kube_login_acting(const KubeConfig *config)
{
	const char *command = mod_str(json_object_get(config->user, "exec"), "command");
	bool runs = *command && !*mod_str(config->user, "token") &&
		    !*mod_str(config->user, "tokenFile");
	const char *as = mod_str(config->user, "as");
	GString *text = g_string_new(NULL);
	if (config->context)
		g_string_append_printf(
			text, "context %s, user %s", config->context, config->user_name);
	else
		g_string_append(text, config->source);
	if (*as)
		g_string_append_printf(text, " as %s", as);
	if (runs)
		g_string_append_printf(
			text, ", by the plug-in %s that %s names", command, config->source);
	return g_string_free(text, FALSE);
}

static rgp_status login_exec(
	const ModTalk *talk, const KubeLogin *login, char **value, int64_t *expires_s)
{
	json_t *given = NULL;
	rgp_status status = kube_exec_run(talk, login->config, &given, expires_s);
	json_auto_t *owned = given;
	if (status != RGP_OK)
		return status;
	json_auto_t *certificate = json_object();
	if (*mod_str(owned, "clientCertificateData")) {
		json_object_set(
			certificate, "cert_pem", json_object_get(owned, "clientCertificateData"));
		json_object_set(certificate, "key_pem", json_object_get(owned, "clientKeyData"));
	}
	*value = value_of(login->config, certificate, mod_str(owned, "token"));
	return RGP_OK;
}

static rgp_status login_get(const ModTalk *talk, const void *data, char **value, int64_t *expires_s)
{
	const KubeLogin *login = data;
	const json_t *user = login->config->user;
	*expires_s = 0;
	if (*mod_str(user, "tokenFile"))
		return login_file(talk, login, value, expires_s);
	if (!*mod_str(user, "token") && json_object_get(user, "exec"))
		return login_exec(talk, login, value, expires_s);
	talk->host->secret(talk->call, mod_bytes(mod_str(user, "token")));
	*value = value_of(login->config, login->certificate, mod_str(user, "token"));
	return RGP_OK;
}

ModLeaseSource kube_login_source(const KubeLogin *login)
{
	return (ModLeaseSource){login_get, login, "the credentials of the kubeconfig"};
}
