/* preflight: quotas of the region and of the project (regions.get, projects.get), and whether nodes
 * without a public address have a way out (routers.list). What could not be asked is one note. */
#include "gcp/preflight.h"
#include <string.h>

/* ---- questions */

/* "projects/p/regions/r/subnetworks/s" of the nodes without a public address */
static const char *subnetwork_of(const GcpPreflight *preflight)
{
	return mod_str(json_object_get(preflight->closed, "attributes"), "subnetwork");
}

/* The routers of a shared VPC are in its own project, as its subnetwork is. */
static char *routers_url(const GcpPreflight *preflight)
{
	const char *subnetwork = subnetwork_of(preflight),
		   *end = strstr(subnetwork, "/subnetworks/");
	return g_strdup_printf("%.*s/routers?maxResults=500&fields=kind,items(network,nats(type,"
			       "endpointTypes,sourceSubnetworkIpRangesToNat,subnetworks(name,"
			       "sourceIpRangesToNat))),nextPageToken",
		end ? (int)(end - subnetwork) : 0, subnetwork);
}

static rgp_status ask(GcpPreflight *preflight)
{
	static const char *const about[] = {"quotas of the region", "quotas of the project",
		"whether Cloud NAT serves the network", "the network of the subnetwork"};
	static const char *const whats[] = {
		"regions.get", "projects.get", "routers.list", "subnetworks.get"};
	const GcpCall *call = preflight->call;
	const char *project = gcp_project(call), *region = call->inst->region;
	ModRestRequest requests[GCP_QUESTIONS];
	ModRestAnswer answers[GCP_QUESTIONS] = {{0}};
	char *urls[GCP_QUESTIONS];
	size_t n = preflight->closed ? GCP_QUESTIONS : GCP_ROUTERS;
	if (!project)
		return RGP_FAIL;
	urls[GCP_REGION] = g_strdup_printf("projects/%s/regions/%s?fields=quotas", project, region);
	urls[GCP_PROJECT] = g_strdup_printf("projects/%s?fields=quotas", project);
	urls[GCP_ROUTERS] = routers_url(preflight);
	urls[GCP_SUBNETWORK] = g_strdup_printf("%s?fields=network", subnetwork_of(preflight));
	for (size_t i = 0; i < n; i++)
		requests[i] = gcp_get(call, whats[i], urls[i]);
	rgp_status status = mod_rest_send_all(&call->talk, &call->inst->rest, requests, n, answers);
	if (status == RGP_OK && n > GCP_ROUTERS)
		status = gcp_complete(call, &requests[GCP_ROUTERS], &answers[GCP_ROUTERS]);
	for (size_t i = 0; i < n; i++) {
		const ModFailure *failure = &answers[i].failure;
		if (answers[i].status && failure->class_ == RGP_CLASS_OK)
			preflight->answers[i] = json_incref(answers[i].body);
		else
			mod_find_nothing(&preflight->findings, about[i], whats[i], failure);
		mod_rest_answer_clear(&answers[i]);
	}
	for (size_t i = 0; i < GCP_QUESTIONS; i++)
		g_free(urls[i]);
	return status;
}

/* ---- the way out */

/* Primary addresses of the subnetwork; private NAT leads to other networks only (compute.v1,
 * schemas RouterNat, RouterNatSubnetworkToNat). */
static bool nat_serves(const json_t *nat, const char *subnetwork)
{
	const char *ranges = mod_str(nat, "sourceSubnetworkIpRangesToNat");
	const json_t *types = json_object_get(nat, "endpointTypes");
	if (g_str_equal(mod_str(nat, "type"), "PRIVATE") ||
		(json_array_size(types) && !mod_has_text(types, "ENDPOINT_TYPE_VM")))
		return false;
	if (g_str_has_prefix(ranges, "ALL_SUBNETWORKS_"))
		return true;
	mod_foreach (one, json_object_get(nat, "subnetworks")) {
		const json_t *parts = json_object_get(one, "sourceIpRangesToNat");
		if (g_str_equal(gcp_path_of(mod_str(one, "name")), subnetwork) &&
			(mod_has_text(parts, "ALL_IP_RANGES") ||
				mod_has_text(parts, "PRIMARY_IP_RANGE")))
			return true;
	}
	return false;
}

static bool has_nat(const GcpPreflight *preflight)
{
	const char *network = gcp_path_of(mod_str(preflight->answers[GCP_SUBNETWORK], "network"));
	mod_foreach (router, json_object_get(preflight->answers[GCP_ROUTERS], "items")) {
		if (strcmp(gcp_path_of(mod_str(router, "network")), network))
			continue;
		mod_foreach (nat, json_object_get(router, "nats"))
			if (nat_serves(nat, subnetwork_of(preflight)))
				return true;
	}
	return false;
}

/* Without a public address, nodes reach their container image only through Cloud NAT or a proxy. */
static void check_ways(GcpPreflight *preflight)
{
	if (!preflight->answers[GCP_ROUTERS] || !preflight->answers[GCP_SUBNETWORK] ||
		has_nat(preflight))
		return;
	const ModFinding finding = {.severity = "warning",
		.class_ = RGP_CLASS_INVALID,
		.create = preflight->closed,
		.attribute = "public_ip",
		.hint = "add Cloud NAT to a router of the network (gcloud compute routers nats "
			"create), or set `public_ip: true`; Private Google Access does not reach "
			"other registries than Google's"};
	mod_find_out(&preflight->findings, &finding,
		"nodes have no public address, and no Cloud NAT serves the subnetwork %s of "
		"network "
		"%s: they may not reach their container image",
		gcp_last_of(subnetwork_of(preflight)),
		gcp_last_of(mod_str(preflight->answers[GCP_SUBNETWORK], "network")));
}

/* The first create of nodes; `closed`: of those without a public address. */
static const json_t *find_nodes(const json_t *creates, bool closed)
{
	mod_foreach (create, creates) {
		const json_t *attributes = json_object_get(create, "attributes");
		if (g_str_equal(mod_str(create, "kind"), GCP_INSTANCE) &&
			!(closed && json_is_true(json_object_get(attributes, "public_ip"))))
			return create;
	}
	return NULL;
}

rgp_status gcp_preflight(const GcpCall *call, const json_t *input)
{
	const json_t *permissions = json_object_get(input, "permissions");
	if (permissions)
		return gcp_permissions_test(call, permissions);
	GcpPreflight preflight = {.call = call,
		.findings = {.talk = &call->talk},
		.creates = json_object_get(input, "creates")};
	preflight.closed = find_nodes(preflight.creates, true);
	if (!find_nodes(preflight.creates, false))
		return RGP_OK;
	preflight.findings.status = ask(&preflight);
	if (preflight.findings.status == RGP_OK) {
		gcp_check_quotas(&preflight);
		check_ways(&preflight);
	}
	for (size_t i = 0; i < GCP_QUESTIONS; i++)
		json_decref(preflight.answers[i]);
	return mod_findings_end(&preflight.findings,
		"`raygpu iam` prints the role that the caller needs; `apply` finds out otherwise");
}
