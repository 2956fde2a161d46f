/* CI systems set variables with the URL of the job, or with its parts. */
#include "state/internal.h"

static const char *env(const char *name)
{
	const char *value = g_getenv(name);
	return value && *value ? value : NULL;
}

char *job_url(void)
{
	static const char *const whole[] = {"CI_JOB_URL", "BUILDKITE_BUILD_URL", "BUILD_URL"};
	const char *server = env("GITHUB_SERVER_URL"), *repository = env("GITHUB_REPOSITORY");
	const char *run = env("GITHUB_RUN_ID");
	if (server && repository && run)
		return g_strdup_printf("%s/%s/actions/runs/%s", server, repository, run);
	for (size_t i = 0; i < G_N_ELEMENTS(whole); i++) {
		if (env(whole[i]))
			return g_strdup(env(whole[i]));
	}
	return NULL;
}
