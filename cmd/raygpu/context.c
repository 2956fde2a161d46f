#include "stream.h"
#include "base/clock.h"
#include "base/log.h"
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

extern const struct rg_embedded rg_aws_data[], rg_azure_data[], rg_gcp_data[], rg_kubernetes_data[];
const struct rgp_provider *raygpu_provider_v1_aws(void), *raygpu_provider_v1_gcp(void),
	*raygpu_provider_v1_kubernetes(void);

static const RgBuiltinProvider builtins[] = {
	{"aws", raygpu_provider_v1_aws, rg_aws_data},
	{"azure", NULL, rg_azure_data},
	{"gcp", raygpu_provider_v1_gcp, rg_gcp_data},
	{"kubernetes", raygpu_provider_v1_kubernetes, rg_kubernetes_data},
	{NULL, NULL, NULL},
};

static const char *environment(const char *name)
{
	return getenv(name);
}

/* https://no-color.org, https://bixense.com/clicolors/ */
static bool wants_color(int fd)
{
	const char *value = getenv("NO_COLOR");
	if (value && *value)
		return false;
	const char *force = getenv("CLICOLOR_FORCE");
	if (force && *force && !g_str_equal(force, "0"))
		return true;
	return isatty(fd) && g_strcmp0(getenv("TERM"), "dumb") != 0;
}

static unsigned columns(int fd)
{
	struct winsize size;
	if (isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
		return size.ws_col;
	return 80;
}

void context_init(Context *context)
{
	*context = (Context){.diags = rg_diags_new()};
	context->out = (RgStyle){wants_color(STDOUT_FILENO), columns(STDOUT_FILENO)};
	context->err = (RgStyle){wants_color(STDERR_FILENO), columns(STDERR_FILENO)};
	g_autofree char *today = rg_clock_format(rg_clock_now_s());
	today[strlen("2026-11-22")] = '\0';
	context->out.today = context->err.today = g_intern_string(today);
	context->live = isatty(STDERR_FILENO) && g_strcmp0(getenv("TERM"), "dumb") != 0;
	const char *log = getenv("RAYGPU_LOG");
	if (log)
		rg_log_init(g_str_equal(log, "debug") ? RG_LOG_DEBUG : RG_LOG_INFO, STDERR_FILENO);
}

void context_clear(Context *context)
{
	rg_store_close(context->store);
	stream_free(context->stream);
	keys_clear(context);
	rg_provider_host_free(context->providers);
	rg_diags_free(context->diags);
	g_free(context->state_path);
	g_free(context->state_shown);
	g_free(context->trace_path);
	g_free(context->cluster);
	g_free(context->ref);
	g_free(context->changed_since);
	g_strfreev(context->provider_dirs);
}

bool context_open_providers(Context *context)
{
	if (context->providers)
		return true;
	/* --provider-dir, RAYGPU_PROVIDER_PATH, the installed place. */
	g_autoptr(GStrvBuilder) all = g_strv_builder_new();
	for (guint i = 0; context->provider_dirs && context->provider_dirs[i]; i++)
		g_strv_builder_add(all, context->provider_dirs[i]);
	const char *path = getenv("RAYGPU_PROVIDER_PATH");
	if (path) {
		g_auto(GStrv) parts = g_strsplit(path, ":", -1);
		for (guint i = 0; parts[i]; i++) {
			if (*parts[i])
				g_strv_builder_add(all, parts[i]);
		}
	}
	g_strv_builder_add(all, RG_PROVIDER_DIR);
	g_auto(GStrv) directories = g_strv_builder_end(all);
	RgProviderHostOptions options = {.builtins = builtins,
		.directories = directories,
		.env = environment,
		.home = g_get_home_dir()};
	context->providers = rg_provider_host_new(&options);
	return true;
}

/* For tests: for any other host they are ignored. */
static unsigned loopback_ms(const char *name)
{
	guint64 ms = 0;
	const char *value = getenv(name);
	return value && g_ascii_string_to_unsigned(value, 10, 1, 60000, &ms, NULL) ? (unsigned)ms
										   : 0;
}

static RgHttpOptions http_options(const Context *context)
{
	return (RgHttpOptions){.trace_path = context->trace_path,
		.user_agent = "raygpu/" RG_VERSION,
		.on_retry = status_retry,
		.on_retry_data = (void *)(uintptr_t)context,
		.loopback_backoff_ms = loopback_ms("RAYGPU_LOOPBACK_BACKOFF_MS")};
}

const RgObjectStores *context_stores(Context *context)
{
	context_open_providers(context);
	context->objects = (RgObjectsHost){.providers = context->providers,
		.http = http_options(context),
		.env = environment,
		.loopback_lease_ms = loopback_ms("RAYGPU_LOOPBACK_LEASE_MS")};
	context->stores = rg_object_stores(&context->objects);
	return &context->stores;
}

bool context_open_session(Context *context, RgStoreMode mode)
{
	context_open_providers(context);
	if (!context->store)
		context->store = context_open_state(context, mode, context->diags);
	if (!context->store)
		return false;
	RgSession *session = &context->session;
	session->providers = context->providers;
	session->store = context->store;
	session->state_path = context_state_path(context);
	session->trusted_ref = context->changed_since;
	session->allow_endpoints = getenv("RAYGPU_ALLOW_ENDPOINTS");
	session->allow_profiles = getenv("RAYGPU_ALLOW_PROFILES");
	session->settle_ms = 30000;
	session->import = rg_adopt_imports;
	session->progress = status_progress;
	session->progress_data = context;
	session->http = http_options(context);
	session->http.read_only = mode == RG_STORE_READ;
	session->http.canceled = signals_cut_requests;
	return true;
}

bool context_has_cluster(Context *context, const char *name)
{
	g_auto(GStrv) known = rg_store_clusters(context->store, context->diags);
	if (!known)
		return false;
	if (g_strv_contains((const char *const *)known, name))
		return true;
	RgDiag *diag = rg_diags_error(context->diags, "state.no-such-cluster",
		"the state \"%s\" has no cluster %s", context_state_path(context), name);
	g_autofree char *list = g_strjoinv(", ", known);
	if (*list)
		rg_diag_hint(diag, "it has %s", list);
	else
		rg_diag_hint(
			diag, "it is empty; --state FILE or RAYGPU_STATE selects another state");
	return false;
}

char *context_one_cluster(Context *context)
{
	if (context->cluster)
		return context_has_cluster(context, context->cluster) ? g_strdup(context->cluster)
								      : NULL;
	g_auto(GStrv) names = rg_store_clusters(context->store, context->diags);
	if (!names)
		return NULL;
	if (g_strv_length(names) == 1)
		return g_strdup(names[0]);
	g_autofree char *list = g_strjoinv(", ", names);
	RgDiag *diag =
		names[0] ? rg_diags_error(context->diags, "usage.missing-argument",
				   "the state has several clusters: %s", list)
			 : rg_diags_error(context->diags, "state.no-such-cluster",
				   "the state \"%s\" has no cluster", context_state_path(context));
	rg_diag_hint(diag, names[0] ? "select one with --cluster NAME"
				    : "check that it is the right file; --state FILE or "
				      "RAYGPU_STATE selects another");
	return NULL;
}
