#include "command.h"
#include "base/redact.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The keys of sealed secrets in the state: RAYGPU_STATE_KEY, or the file or the command that has
 * it, and RAYGPU_STATE_KEY_OLD. A project file cannot name them: a pull request that changes it
 * could run a command with the pipeline's credentials. */

#define KEY "RAYGPU_STATE_KEY"
#define KEY_OLD "RAYGPU_STATE_KEY_OLD"
#define KEY_FILE "RAYGPU_STATE_KEY_FILE"
#define KEY_CMD "RAYGPU_STATE_KEY_CMD"

static char *take(const char *name)
{
	char *value = getenv(name);
	char *secret = value ? rg_secret_take(value) : NULL;
	unsetenv(name);
	return secret;
}

/* Neither the programs that raygpu starts, such as the shell of `connect`, nor provider modules get
 * the keys, nor does /proc show them. */
void keys_take(Context *context)
{
	context->key_text = take(KEY);
	context->old_key_text = take(KEY_OLD);
}

void keys_clear(Context *context)
{
	rg_secret_free(context->key_text);
	rg_secret_free(context->old_key_text);
	rg_keys_free(context->keys);
}

/* Not more than there is room for; NULL, with errno. */
static char *read_all(int fd)
{
	char *text = rg_secret_new(RG_KEYS_TEXT_MAX + 1);
	size_t len = 0;
	ssize_t n = 1;
	while (n != 0 && len < RG_KEYS_TEXT_MAX) {
		n = read(fd, text + len, RG_KEYS_TEXT_MAX - len);
		if (n < 0 && errno != EINTR) {
			int why = errno;
			rg_secret_free(text);
			errno = why;
			return NULL;
		}
		len += n > 0 ? (size_t)n : 0;
	}
	return text;
}

static char *refuse(Context *context, const char *name, const char *why)
{
	RgDiag *diag = rg_diags_error(context->diags, "state.bad-key", "%s: %s", name, why);
	rg_diag_hint(diag, "raygpu-state(5), SEALED SECRETS, says how a key is given");
	return NULL;
}

static char *read_file(Context *context, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = fd >= 0 ? read_all(fd) : NULL;
	int why = errno;
	if (fd >= 0)
		close(fd);
	g_autofree char *what = g_strdup_printf("\"%s\" cannot be read: %s", path, g_strerror(why));
	return text ? text : refuse(context, KEY_FILE, what);
}

/* A thread of ours handles signals; the command gets them itself. */
static void unblock(gpointer unused)
{
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Its errors go where ours go. */
static char *run_command(Context *context, const char *command)
{
	char *words[] = {g_strdup("/bin/sh"), g_strdup("-c"), g_strdup(command), NULL};
	g_autoptr(GError) error = NULL;
	GPid pid = 0;
	int out = -1, status = -1;
	char *text = NULL;
	if (g_spawn_async_with_pipes(NULL, words, NULL, G_SPAWN_DO_NOT_REAP_CHILD, unblock, NULL,
		    &pid, NULL, &out, NULL, &error)) {
		text = read_all(out);
		close(out);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	for (size_t i = 0; words[i]; i++)
		g_free(words[i]);
	if (error)
		return refuse(context, KEY_CMD, error->message);
	if (text && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return text;
	rg_secret_free(text);
	g_autofree char *what = WIFEXITED(status)
					? g_strdup_printf("the command ended with exit status %d",
						  WEXITSTATUS(status))
					: g_strdup("the command was killed");
	return refuse(context, KEY_CMD, what);
}

/* CI systems set a variable to nothing where a job may not see its secret, such as for pull
 * requests of strangers: it may read, but would write secrets in clear text. */
static bool is_given(const char *text, RgStoreMode mode)
{
	return text && (*text || mode == RG_STORE_WRITE);
}

/* NULL in *text: there is none. */
static bool current_text(Context *context, RgStoreMode mode, char **text, const char **from)
{
	const char *file = getenv(KEY_FILE), *command = getenv(KEY_CMD);
	*text = NULL;
	if ((context->key_text != NULL) + (file != NULL) + (command != NULL) > 1) {
		refuse(context, KEY,
			"only one of " KEY ", " KEY_FILE " and " KEY_CMD " may be set");
		return false;
	}
	*from = context->key_text ? KEY : file ? KEY_FILE : KEY_CMD;
	if (is_given(context->key_text, mode)) {
		*text = g_steal_pointer(&context->key_text);
		return true;
	}
	if (!is_given(file, mode) && !is_given(command, mode))
		return true;
	*text = file ? read_file(context, file) : run_command(context, command);
	return *text != NULL;
}

/* A text may have several keys. */
static void redact(const char *text)
{
	g_auto(GStrv) words = g_strsplit_set(text ? text : "", " \t\r\n,", -1);
	for (guint i = 0; words[i]; i++)
		rg_redact_add(words[i], strlen(words[i]));
}

void keys_redact(Context *context)
{
	context->redacts_keys = true;
	redact(context->key_text);
	redact(context->old_key_text);
}

static bool read_keys(Context *context, RgStoreMode mode)
{
	const char *from = NULL;
	char *text;
	if (!current_text(context, mode, &text, &from))
		return false;
	g_autoptr(RgKeys) keys = rg_keys_new();
	char *old = context->old_key_text;
	if (context->redacts_keys)
		redact(text);
	bool ok = (!text || rg_keys_add(keys, text, from, false, context->diags)) &&
		  (!old || !*old || rg_keys_add(keys, old, KEY_OLD, true, context->diags));
	rg_secret_free(text);
	if (ok && (text || (old && *old)))
		context->keys = g_steal_pointer(&keys);
	return ok;
}

bool keys_give(Context *context, RgStoreMode mode, RgStore *store)
{
	if (!context->keys && !context->no_keys && !read_keys(context, mode))
		return false;
	rg_store_set_keys(store, context->keys);
	return true;
}
