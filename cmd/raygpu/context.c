#include "print/stream.h"
#include "base/clock.h"
#include "base/log.h"
#include "built_in.h"
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#ifdef RG_MODULES_BUILTIN
#define LINKED(entry) entry
#else
#define LINKED(entry) NULL
#endif

static const RgBuiltinProvider builtins[] = {RG_BUILT_IN, {NULL, NULL, NULL, NULL}};

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
	g_free(context->ref_name);
	g_free(context->changed_since);
	g_free(context->trusted_home);
	rg_trusted_free(context->trusted);
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
static unsigned loopback_number(const char *name)
{
	guint64 number = 0;
	const char *value = getenv(name);
	return value && g_ascii_string_to_unsigned(value, 10, 1, 60000, &number, NULL)
		       ? (unsigned)number
		       : 0;
}

RgHttpOptions context_http(const Context *context)
{
	return (RgHttpOptions){.trace_path = context->trace_path,
		.user_agent = "raygpu/" RG_VERSION,
		.on_retry = status_retry,
		.on_retry_data = (void *)(uintptr_t)context,
		.loopback_backoff_ms = loopback_number("RAYGPU_LOOPBACK_BACKOFF_MS"),
		.loopback_wait_s = loopback_number("RAYGPU_LOOPBACK_WAIT_S")};
}

const RgObjectStores *context_stores(Context *context)
{
	context_open_providers(context);
	context->objects = (RgObjectsHost){.providers = context->providers,
		.http = context_http(context),
		.env = environment,
		.loopback_lease_ms = loopback_number("RAYGPU_LOOPBACK_LEASE_MS")};
	context->stores = rg_object_stores(&context->objects);
	return &context->stores;
}
