#include "doctor/checkup.h"
#include "reach/reach.h"
#include "base/redact.h"
#include "catalog/compat.h"
#include "config.h"
#include "raygpu/provider.h"
#include <stdlib.h>
#include <string.h>

/* The checks of this machine: versions, proxies, modules, the git repository. */

#define PROXY_TIMEOUT_MS 10000

static void check_libraries(Doctor *doctor)
{
	g_autoptr(RgDiags) found = rg_diags_new();
	const char *http = rg_http_library(found), *git = rg_git_library(found);
	if (!doctor_take(doctor, "versions", found))
		return;
	doctor_ok(doctor, "versions",
		"raygpu %s, provider ABI %d.%d; GLib/%u.%u.%u, jansson/%s, %s, %s, %s", RG_VERSION,
		RGP_ABI_MAJOR, RGP_ABI_MINOR, glib_major_version, glib_minor_version,
		glib_micro_version, jansson_version_str(), rg_store_library(), http, git);
}

void doctor_check_versions(Doctor *doctor)
{
	check_libraries(doctor);
}

/* ---- proxies */

/* "http://proxy:3128", without user and password; g_free. NULL: it is not a URL. */
static char *proxy_address(const char *value, bool *http)
{
	g_autofree char *whole =
		strstr(value, "://") ? g_strdup(value) : g_strconcat("http://", value, NULL);
	g_autoptr(GUri) uri = g_uri_parse(whole, G_URI_FLAGS_HAS_PASSWORD, NULL);
	const char *host = uri ? g_uri_get_host(uri) : NULL;
	if (!host || !*host)
		return NULL;
	const char *scheme = g_uri_get_scheme(uri), *password = g_uri_get_password(uri);
	bool six = strchr(host, ':') != NULL;
	int port = g_uri_get_port(uri);
	if (password)
		rg_redact_add(password, strlen(password));
	*http = g_str_equal(scheme, "http") || g_str_equal(scheme, "https");
	if (port < 0) /* libcurl's defaults */
		port = g_str_equal(scheme, "https") ? 443 : 1080;
	return g_strdup_printf(
		"%s://%s%s%s:%d", scheme, six ? "[" : "", host, six ? "]" : "", port);
}

/* Any answer shows that something listens there. */
static bool answers(const char *address, RgDiags *diags)
{
	const RgHttpOptions options = {
		.read_only = true, .user_agent = "raygpu/" RG_VERSION, .canceled = signals_came};
	g_autoptr(RgDiags) why = rg_diags_new();
	g_autoptr(RgHttp) http = rg_http_open(&options, why);
	json_auto_t *direct = json_pack("{s:s}", "proxy_url", "");
	const char *at = strstr(address, "://");
	g_autofree char *url = g_strdup_printf("http%s/", at);
	const RgHttpRequest request = {.method = "GET",
		.url = url,
		.reading = true,
		.timeout_ms = PROXY_TIMEOUT_MS,
		.max_tries = 1,
		.connection = direct,
		.what = "the proxy"};
	RgHttpReply reply = {0};
	bool answered = http && rg_http_send(http, &request, &reply, why);
	rg_http_reply_clear(&reply);
	const RgDiag *reason = rg_diags_count(why) ? rg_diags_get(why, 0) : NULL;
	if (answered || !reason || g_str_equal(reason->code, "http.bad-reply"))
		return true;
	RgDiag *diag =
		rg_diags_error(diags, "doctor.proxy", "the proxy %s cannot be reached", address);
	rg_diag_detail(diag, "%s", reason->summary);
	return false;
}

static void check_proxy(Doctor *doctor, const char *name, GHashTable *checked)
{
	const char *value = getenv(name);
	bool http = false;
	if (!value || !*value)
		return;
	g_autoptr(RgDiags) found = rg_diags_new();
	g_autofree char *address = proxy_address(value, &http);
	if (!address) {
		RgDiag *diag = rg_diags_error(found, "doctor.proxy", "%s is not a URL", name);
		rg_diag_hint(diag, "set it to http://HOST:PORT, or unset it");
	} else if (g_hash_table_add(checked, g_strdup(address)) && !answers(address, found)) {
		rg_diag_hint((RgDiag *)(uintptr_t)rg_diags_get(found, 0),
			"correct or unset %s; NO_PROXY lists the hosts that need no proxy", name);
	}
	if (doctor_take(doctor, "proxy", found))
		doctor_ok(doctor, "proxy", "%s: %s", name, address);
}

/* The variables that libcurl reads. */
void doctor_check_proxies(Doctor *doctor)
{
	static const char *const names[] = {
		"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};
	g_autoptr(GHashTable) checked =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
		check_proxy(doctor, names[i], checked);
	if (!g_hash_table_size(checked) && !doctor_has_findings(doctor, "proxy"))
		doctor_ok(doctor, "proxy", "none is set in the environment");
}

/* ---- provider modules */

/* false: it is needed, and was refused. */
static bool check_module(Doctor *doctor, const json_t *row, bool needed)
{
	const char *name = rg_json_str(row, "name", "?"), *file = rg_json_str(row, "file", "?");
	const char *state = rg_json_str(row, "state", "");
	if (g_str_equal(state, "ok"))
		doctor_ok(doctor, "modules", "%s %s, ABI %d, %s", name,
			rg_json_str(row, "version", "-"), (int)rg_json_int(row, "abi", 0), file);
	if (!g_str_equal(state, "refused"))
		return true;
	g_autoptr(RgDiags) found = rg_diags_new();
	RgDiag *diag = (needed ? rg_diags_error : rg_diags_warning)(
		found, "provider.refused", "the module %s (%s) cannot be used", name, file);
	rg_diag_detail(diag, "%s", rg_json_str(row, "reason", ""));
	rg_diag_hint(diag, "replace or remove it");
	doctor_take(doctor, "modules", found);
	return !needed;
}

bool doctor_check_modules(Doctor *doctor, const char *provider)
{
	json_auto_t *rows = rg_provider_host_list(doctor->context->providers);
	bool usable = true;
	rg_json_foreach (row, rows) {
		bool needed = g_strcmp0(rg_json_str(row, "name", ""), provider) == 0;
		usable = check_module(doctor, row, needed) && usable;
	}
	return usable;
}

/* ---- connect */

void doctor_check_connect(Doctor *doctor, const RgCluster *cluster)
{
	g_autoptr(RgDiags) found = rg_diags_new(), unknown = rg_diags_new();
	const RgProviderRef *provider = &cluster->provider;
	const RgSchema *schema =
		rg_provider_schema(doctor->context->providers, provider->name, unknown);
	if (!schema || !rg_schema_connect(schema))
		return;
	g_autofree char *missing = rg_reach_missing(schema, provider->config, NULL);
	if (missing) {
		doctor_ok(doctor, "connect", "not set up: that needs %s", missing);
		return;
	}
	const char *program = rg_reach_missing_program(schema, provider->config, NULL);
	if (program) {
		RgDiag *diag = rg_diags_warning(found, "doctor.connect",
			"`%s`, which `raygpu connect` needs, is not installed", program);
		rg_diag_hint(diag, "install it, or choose another way with --via");
	}
	if (doctor_take(doctor, "connect", found))
		doctor_ok(doctor, "connect", "its settings and programs are there");
}

/* ---- git */

void doctor_check_git(Doctor *doctor)
{
	g_autoptr(RgDiags) found = rg_diags_new();
	g_autoptr(RgProvenance) provenance = rg_git_provenance(doctor->spec, found);
	if (provenance && !provenance->in_repository) {
		RgDiag *diag = rg_diags_warning(found, "git.no-repository",
			"\"%s\" is not in a git repository", doctor->spec);
		rg_diag_detail(diag,
			"plans and the log do not name a commit; --ref and --changed-since do not "
			"work");
		rg_diag_hint(diag, "`git init`, then commit the specs");
	} else if (provenance && !provenance->commit) {
		RgDiag *diag = rg_diags_warning(
			found, "git.no-revision", "the git repository has no commit yet");
		rg_diag_hint(diag, "commit the spec, so that plans and the log name a commit");
	}
	if (!doctor_take(doctor, "git", found) || !provenance)
		return;
	doctor_ok(doctor, "git", "repository %s, commit %.12s%s", provenance->root,
		provenance->commit,
		provenance->dirty ? "; the spec has changes that are not committed" : "");
}
