/* The services of struct rgp_host except http (http.c) and exec (exec.c). All data from a module is
 * hostile until checked. */
#include "provider/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/caps.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/redact.h"

/* Diagnostics that are kept per call; nobody reads more. */
#define DIAGS_MAX 200
#define SLOT_MAX 64
#define PATH_CAP 4096

static RgDiag *add_diag(RgCall *call, int32_t severity, const char *code, const char *summary)
{
	if (severity == 1)
		return rg_diags_warning(call->diags, code, "%s", summary);
	if (severity == 2)
		return rg_diags_note(call->diags, code, "%s", summary);
	call->errors++;
	return rg_diags_error(call->diags, code, "%s", summary);
}

static const char *code_of(const struct rgp_diag *told)
{
	bool known = told->class_ > RGP_CLASS_OK && told->class_ <= RGP_CLASS_CANCELED;
	if (told->class_ == RGP_CLASS_OK && told->severity == 1)
		return "provider.warning";
	if (told->class_ == RGP_CLASS_OK && told->severity == 2)
		return "provider.note";
	return rg_class_code(known ? (RgClass)told->class_ : RG_CLASS_UNKNOWN);
}

static void host_diag(struct rgp_call *handle, const struct rgp_diag *told)
{
	RgCall *call = rg_call_enter(handle);
	if (!call)
		return;
	if (!told || !RGP_HAS(told, attribute)) {
		rg_call_bad(call, "a diagnostic is shorter than in ABI 1.0");
		return;
	}
	if (call->diag_count++ >= DIAGS_MAX)
		return;
	g_autofree char *summary = rg_text_clean(told->summary);
	g_autofree char *detail = rg_text_clean(told->detail);
	g_autofree char *hint = rg_text_clean(told->hint);
	g_autofree char *code = rg_text_clean(told->code);
	g_autofree char *request_id = rg_text_clean(told->request_id);
	g_autofree char *address = rg_text_clean(told->address);
	g_autofree char *attribute = rg_text_clean(told->attribute);
	bool empty = !summary || *summary == '\0';
	if (!empty)
		g_strdelimit(summary, "\n", ' ');
	RgDiag *diag = add_diag(
		call, told->severity, code_of(told), empty ? "the module gave no reason" : summary);
	if (detail)
		rg_diag_detail(diag, "%s", detail);
	if (hint)
		rg_diag_hint(diag, "%s", hint);
	rg_diag_address(diag, address, attribute);
	rg_diag_cloud(diag, rg_call_provider(call), code, request_id);
	if (RGP_HAS(told, origin)) {
		g_autofree char *origin = rg_text_clean(told->origin);
		rg_diag_origin(diag, origin);
	}
}

/* Parsed, or NULL after reporting an error. */
static json_t *parse_result(RgCall *call, const char *slot, struct rgp_bytes bytes)
{
	bool pages = (call->flags & RG_CALL_PAGES) != 0;
	if (!bytes.data) {
		rg_call_bad(call, "\"%s\" has no bytes", slot);
		return NULL;
	}
	size_t before = pages ? 0 : call->result_bytes;
	if (bytes.len > RG_CAP_PROVIDER_RESULT - before) {
		rg_call_bad(call, "\"%s\" is larger than %d MiB", slot,
			RG_CAP_PROVIDER_RESULT / (1024 * 1024));
		return NULL;
	}
	call->result_bytes = before + bytes.len;
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_t *value =
		rg_json_parse(bytes.data, bytes.len, "the text", "provider.bad-result", diags);
	if (!value) {
		g_autofree char *why = rg_text_clean(rg_diags_get(diags, 0)->summary);
		rg_call_bad(call, "\"%s\": %s", slot, why);
	}
	return value;
}

/* The bytes of an object, as they are. */
static rgp_status take_content(RgCall *call, struct rgp_bytes bytes)
{
	if (bytes.len > RG_CAP_PROVIDER_RESULT || (!bytes.data && bytes.len > 0) || *call->answer) {
		rg_call_bad(call, "\"content\" is too large, has no bytes, or was returned twice");
		return RGP_FAIL;
	}
	*call->answer = g_bytes_new(bytes.data, bytes.len);
	return RGP_OK;
}

static rgp_status host_result(struct rgp_call *handle, const char *slot, struct rgp_bytes bytes)
{
	RgCall *call = rg_call_enter(handle);
	if (!call)
		return RGP_FAIL;
	if (!slot || strnlen(slot, SLOT_MAX) == SLOT_MAX) {
		rg_call_bad(call, "a result without a name");
		return RGP_FAIL;
	}
	if (call->answer && g_str_equal(slot, "content"))
		return take_content(call, bytes);
	unsigned bad = call->bad_count;
	g_autofree char *name = rg_text_clean(slot);
	json_auto_t *value = parse_result(call, name, bytes);
	if ((call->flags & RG_CALL_PAGES) == 0)
		rg_call_has_news(call); /* for pages, only if not empty */
	/* The id of an item must not be lost, whatever else is wrong with it. */
	if (value && (rg_result_fits(call, name, value) || g_str_equal(name, "item")))
		call->slot(call, name, value);
	return call->bad_count == bad ? RGP_OK : RGP_FAIL;
}

static void host_log(struct rgp_call *handle, int32_t level, const char *message)
{
	RgCall *call = rg_call_enter(handle);
	g_autofree char *text = call ? rg_text_clean(message) : NULL;
	if (!text)
		return;
	rg_log(level == RGP_LOG_INFO ? RG_LOG_INFO : RG_LOG_DEBUG, "%s: %s: %s",
		rg_call_provider(call), call->verb, text);
}

static int32_t host_canceled(struct rgp_call *handle)
{
	RgCall *call = rg_call_enter(handle);
	return !call || rg_call_canceled(call);
}

static rgp_status host_sleep(struct rgp_call *handle, uint32_t ms)
{
	RgCall *call = rg_call_enter(handle);
	if (!call)
		return RGP_FAIL;
	/* A change may take longer than a list may: what is asked after a pause is how far it is.
	 */
	if ((call->flags & RG_CALL_CHANGES) != 0)
		rg_call_has_news(call);
	return rg_call_sleep(call, ms) ? RGP_OK : RGP_CANCELED;
}

/* True if the call may read the machine it runs on; schema and lower are pure. */
static bool may_read(RgCall *call, const char *service)
{
	if ((call->flags & RG_CALL_READS) != 0)
		return true;
	rg_call_bad(call, "it used the host's %s, but %s must be pure", service, call->verb);
	return false;
}

static const char *host_env(struct rgp_call *handle, const char *name)
{
	RgCall *call = rg_call_enter(handle);
	if (!call || !name || !may_read(call, "env") || !call->host->env)
		return NULL;
	return call->host->env(name);
}

/* At most RG_CAP_FILE_BYTES, followed by a NUL; NULL if unreadable. */
static char *read_capped(int fd, size_t *len)
{
	g_autoptr(GString) text = g_string_new(NULL);
	char chunk[16384];
	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || text->len + (size_t)n > RG_CAP_FILE_BYTES)
			return NULL;
		if (n == 0)
			break;
		g_string_append_len(text, chunk, n);
	}
	*len = text->len;
	return g_string_free(g_steal_pointer(&text), FALSE);
}

static char *full_path(const RgCall *call, const char *path)
{
	if (strnlen(path, PATH_CAP) == PATH_CAP)
		return NULL;
	if (g_str_has_prefix(path, "~/"))
		return call->host->home ? g_build_filename(call->host->home, path + 2, NULL) : NULL;
	return g_path_is_absolute(path) ? g_strdup(path) : NULL;
}

static rgp_status host_read_file(
	struct rgp_call *handle, const char *path, struct rgp_bytes *content)
{
	RgCall *call = rg_call_enter(handle);
	if (!call || !path || !content || !may_read(call, "read_file"))
		return RGP_FAIL;
	g_autofree char *full = full_path(call, path);
	/* Non-blocking: a pipe in place of a credentials file must not hang us. */
	int fd = full ? open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	if (fd < 0)
		return RGP_FAIL;
	struct stat info;
	size_t len = 0;
	char *text = NULL;
	if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
		text = read_capped(fd, &len);
	close(fd);
	if (!text)
		return RGP_FAIL;
	*content = (struct rgp_bytes){rg_call_keep(call, text), len};
	return RGP_OK;
}

static rgp_status host_write_file(
	struct rgp_call *handle, const char *path, struct rgp_bytes content)
{
	RgCall *call = rg_call_enter(handle);
	if (!call || !path || !content.data || content.len > RG_CAP_FILE_BYTES ||
		!may_read(call, "write_file"))
		return RGP_FAIL;
	g_autofree char *full = full_path(call, path);
	bool written = full && g_file_set_contents_full(full, content.data, (gssize)content.len,
				       G_FILE_SET_CONTENTS_CONSISTENT, 0600, NULL);
	return written ? RGP_OK : RGP_FAIL;
}

static void host_secret(struct rgp_call *handle, struct rgp_bytes secret)
{
	if (rg_call_enter(handle) && secret.data && secret.len <= RG_CAP_FILE_BYTES)
		rg_redact_add(secret.data, secret.len);
}

static int64_t host_now(struct rgp_call *handle)
{
	return rg_clock_now_s();
}

const struct rgp_host rg_provider_services = {
	.size = sizeof(struct rgp_host),
	.abi_major = RGP_ABI_MAJOR,
	.abi_minor = RGP_ABI_MINOR,
	.http = rg_provider_http,
	.diag = host_diag,
	.result = host_result,
	.log = host_log,
	.canceled = host_canceled,
	.sleep_ms = host_sleep,
	.env = host_env,
	.read_file = host_read_file,
	.exec = rg_provider_exec,
	.secret = host_secret,
	.now = host_now,
	.http_all = rg_provider_http_all,
	.write_file = host_write_file,
	.exec_all = rg_provider_exec_all,
};
