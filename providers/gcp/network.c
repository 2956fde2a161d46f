/* The nodes' subnetwork: the spec's, or the one that its network has in the region. */
#include <string.h>
#include "gcp/resolve.h"

#define FIELDS "name,selfLink,network,region,purpose,privateIpGoogleAccess"

/* "projects/p/global/networks/NAME" */
static char *network_path(const GcpCall *call)
{
	const char *named = mod_str(call->inst->config, "network");
	return strchr(named, '/') ? g_strdup(named)
				  : g_strdup_printf("projects/%s/global/networks/%s",
					    gcp_project(call), *named ? named : "default");
}

/* The project in "projects/PROJECT/...". */
static char *project_of(const char *path)
{
	const char *start = g_str_has_prefix(path, "projects/") ? path + strlen("projects/") : "";
	return g_strndup(start, strcspn(start, "/"));
}

GcpQuestion *gcp_network_ask(GcpAsking *asking)
{
	const GcpCall *call = asking->call;
	const char *named = mod_str(call->inst->config, "subnetwork");
	const char *region = call->inst->region;
	g_autofree char *place = g_strdup_printf("/regions/%s/", region);
	if (!gcp_project(call))
		return NULL;
	if (strchr(named, '/') && !strstr(named, place)) {
		mod_refuse(call, "/provider/subnetwork", "nodes need a subnetwork of their region",
			"subnetwork %s is not in region %s", named, region);
		return NULL;
	}
	if (*named)
		return gcp_ask(asking, "subnetworks.get",
			strchr(named, '/') ? g_strdup_printf("%s?fields=" FIELDS, named)
					   : g_strdup_printf("projects/%s/regions/%s/subnetworks/%s"
							     "?fields=" FIELDS,
						     gcp_project(call), region, named),
			"/provider/subnetwork");
	g_autofree char *network = network_path(call), *project = project_of(network);
	return gcp_ask_list(asking, "subnetworks.list",
		g_strdup_printf("projects/%s/regions/%s/subnetworks?maxResults=500"
				"&fields=kind,items(" FIELDS "),nextPageToken",
			project, region),
		"/provider/network");
}

static bool is_for_nodes(const json_t *subnetwork)
{
	const char *purpose = mod_str(subnetwork, "purpose");
	return !*purpose || g_str_equal(purpose, "PRIVATE");
}

/* Of a list: the only one in the network. */
static rgp_status choose(const GcpCall *call, const json_t *list, const json_t **chosen)
{
	g_autofree char *network = network_path(call);
	g_autoptr(GString) names = g_string_new(NULL);
	size_t count = 0;
	*chosen = NULL;
	mod_foreach (subnetwork, list) {
		if (strcmp(gcp_path_of(mod_str(subnetwork, "network")), network) ||
			!is_for_nodes(subnetwork))
			continue;
		*chosen = subnetwork;
		g_string_append_printf(
			names, "%s%s", count++ ? ", " : "", mod_str(subnetwork, "name"));
	}
	if (count == 1)
		return RGP_OK;
	if (count)
		return mod_refuse(call, "/provider", "set `subnetwork` of provider to one of them",
			"network %s has %zu subnetworks in %s: %s", gcp_last_of(network), count,
			call->inst->region, names->str);
	return mod_refuse(call, "/provider/network",
		"set `network` and `subnetwork` of provider; `gcloud compute networks subnets "
		"list` "
		"shows what there is",
		"network %s has no subnetwork in %s", gcp_last_of(network), call->inst->region);
}

/* A firewall rule belongs to the project of its network. */
static rgp_status check_owner(const GcpCall *call, const char *network)
{
	g_autofree char *owner = project_of(network);
	if (g_str_equal(owner, gcp_project(call)) ||
		json_is_false(json_object_get(call->inst->config, "firewall")))
		return RGP_OK;
	return mod_refuse(call, "/provider",
		"set `firewall: false` of provider, and ask the owner of the network to allow "
		"traffic between the nodes",
		"network %s belongs to project \"%s\", where raygpu makes no firewall rules",
		gcp_last_of(network), owner);
}

rgp_status gcp_network_take(const GcpCall *call, const GcpQuestion *question, json_t *facts)
{
	const char *named = mod_str(call->inst->config, "subnetwork");
	const json_t *subnetwork = question->answer.body;
	bool exists;
	if (gcp_answered(call, question, &exists) != RGP_OK)
		return RGP_FAIL;
	if (!exists)
		return mod_refuse(call, question->origin,
			"subnetworks of a shared VPC are "
			"projects/HOST-PROJECT/regions/REGION/subnetworks/NAME",
			"there is no subnetwork %s in %s", named, call->inst->region);
	if (!*named && choose(call, json_object_get(question->answer.body, "items"), &subnetwork) !=
			       RGP_OK)
		return RGP_FAIL;
	const char *network = gcp_path_of(mod_str(subnetwork, "network"));
	g_autofree char *wanted = network_path(call);
	if (*mod_str(call->inst->config, "network") && strcmp(wanted, network))
		return mod_refuse(call, "/provider/subnetwork", "leave `network` out",
			"subnetwork %s is in network %s", named, gcp_last_of(network));
	if (check_owner(call, network) != RGP_OK)
		return RGP_FAIL;
	json_object_set_new(facts, "module",
		json_pack("{s:s, s:s, s:s}", "project", gcp_project(call), "network", network,
			"subnetwork", gcp_path_of(mod_str(subnetwork, "selfLink"))));
	return RGP_OK;
}
