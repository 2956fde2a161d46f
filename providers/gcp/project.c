/* Which project everything is in. */
#include "gcp/gcp.h"
#include "common/open.h"
#include "gcp/credentials.h"

#define PROJECT_ENV "GOOGLE_CLOUD_PROJECT"

/* 6 to 30 lower-case letters, digits and hyphens, a letter first, no hyphen last (Resource Manager,
 * "Creating and managing projects"); older ones begin with their domain: "example.com:project". It
 * becomes part of URLs. */
static bool is_project(const char *project)
{
	return g_regex_match_simple("^([a-z0-9][a-z0-9.-]{0,60}:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$",
		project, G_REGEX_DOLLAR_ENDONLY, 0);
}

void gcp_project_find(const ModTalk *talk, struct rgp_inst *inst)
{
	const struct {
		const char *project, *source;
	} places[] = {{mod_str(inst->config, "project"), "`project` of provider"},
		{mod_open_env(talk, PROJECT_ENV), PROJECT_ENV},
		{mod_str(inst->key, "project_id"), "the credentials file"}};
	for (size_t i = 0; i < G_N_ELEMENTS(places) && !inst->project; i++) {
		inst->project = *places[i].project ? g_strdup(places[i].project) : NULL;
		inst->project_source = places[i].source;
	}
}

static rgp_status check_project(const GcpCall *call, const char *project)
{
	const char *source = call->inst->project_source;
	bool number = strspn(project, "0123456789") == strlen(project);
	if (is_project(project))
		return RGP_OK;
	return mod_refuse(call, "/provider",
		"`gcloud projects list` shows the ids of projects: 6 to 30 lower-case letters, "
		"digits and hyphens, such as my-project-123",
		"\"%s\", from %s, is %s", project, source,
		number ? "the number of a project, not its id" : "not the id of a project");
}

const char *gcp_project(const GcpCall *call)
{
	struct rgp_inst *inst = call->inst;
	pthread_mutex_lock(&inst->lock);
	rgp_status status = RGP_OK;
	if (!inst->project && !inst->key_path) {
		status = gcp_project_metadata(&call->talk, &inst->project);
		inst->project_source = "the metadata server";
	}
	const char *project = inst->project; /* set once, never changed */
	pthread_mutex_unlock(&inst->lock);
	if (project)
		return check_project(call, project) == RGP_OK ? project : NULL;
	if (status == RGP_OK)
		mod_refuse(call, "/provider", "set `project` of provider, or " PROJECT_ENV,
			"no Google Cloud project is named");
	return NULL;
}
