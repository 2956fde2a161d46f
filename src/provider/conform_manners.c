/* What a module must not change in its process (raygpu-provider(7)): compared before it is loaded
 * and after the script. */
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "provider/conform_internal.h"

struct RgManners {
	char *directory, *locale;
	mode_t mask;
	GStrv environment; /* sorted */
	struct sigaction actions[NSIG];
	sigset_t blocked;
};

RgManners *rg_manners_new(void)
{
	RgManners *manners = g_new0(RgManners, 1);
	manners->directory = g_get_current_dir();
	manners->locale = g_strdup(setlocale(LC_ALL, NULL));
	manners->mask = umask(0);
	umask(manners->mask);
	manners->environment = g_get_environ();
	g_qsort_with_data(manners->environment, (gint)g_strv_length(manners->environment),
		sizeof *manners->environment, (GCompareDataFunc)(void (*)(void))rg_by_text, NULL);
	for (int i = 1; i < NSIG; i++)
		sigaction(i, NULL, &manners->actions[i]);
	pthread_sigmask(SIG_BLOCK, NULL, &manners->blocked);
	return manners;
}

void rg_manners_free(RgManners *manners)
{
	if (!manners)
		return;
	g_free(manners->directory);
	g_free(manners->locale);
	g_strfreev(manners->environment);
	g_free(manners);
}

/* Whether the process has children, running or not waited for. The host waits for all its
 * helpers. */
static bool has_children(void)
{
	siginfo_t info = {0};
	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

static const char *find_signal(const RgManners *before, const RgManners *now)
{
	for (int i = 1; i < NSIG; i++) {
		if (before->actions[i].sa_handler != now->actions[i].sa_handler ||
			sigismember(&before->blocked, i) != sigismember(&now->blocked, i))
			return strsignal(i);
	}
	return NULL;
}

char *rg_manners_broken(const RgManners *before)
{
	RgManners *now = rg_manners_new();
	const char *signal = find_signal(before, now);
	char *why = NULL;
	if (!g_str_equal(before->directory, now->directory))
		why = g_strdup_printf("it changed the working directory to %s", now->directory);
	else if (before->mask != now->mask)
		why = g_strdup_printf("it changed the umask to %03o", (unsigned)now->mask);
	else if (g_strcmp0(before->locale, now->locale) != 0)
		why = g_strdup_printf("it changed the locale to %s", now->locale);
	else if (!g_strv_equal((const char *const *)before->environment,
			 (const char *const *)now->environment))
		why = g_strdup("it changed the environment");
	else if (signal)
		why = g_strdup_printf("it changed the handling of the signal \"%s\"", signal);
	else if (has_children())
		why = g_strdup("it left a process behind");
	rg_manners_free(now);
	return why;
}
