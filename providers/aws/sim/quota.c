#include "aws/sim/quota.h"
#include <string.h>
#include "aws/sim/placement.h"
#include "aws/sim/types.h"

static const struct {
	const char *families; /* letters before the generation's digit, blank-separated */
	const char *on_demand;
	const char *spot;
} quotas[] = {
	{"p", "L-417A185B", "L-7212CCBC"},
	{"g gr vt", "L-DB2E81BA", "L-3819A6DF"},
	{"trn", "L-2C3B7624", "L-5480EFD2"},
	{"inf", "L-1945791B", "L-B5D1601B"},
	{"dl", "L-6E869C2A", "L-85EED4F7"},
	{"a c d h i im is m r t z", "L-1216C47A", "L-34B43A08"},
};

const char *rg_sim_quota_code(const char *type, bool spot)
{
	g_autofree char *family = g_strndup(type, strcspn(type, "0123456789.-"));
	for (size_t i = 0; i < G_N_ELEMENTS(quotas); i++) {
		g_auto(GStrv) names = g_strsplit(quotas[i].families, " ", -1);
		if (g_strv_contains((const char *const *)names, family))
			return spot ? quotas[i].spot : quotas[i].on_demand;
	}
	return NULL;
}

bool rg_sim_quota_is_code(const char *word)
{
	for (size_t i = 0; i < G_N_ELEMENTS(quotas); i++) {
		if (g_str_equal(word, quotas[i].on_demand) || g_str_equal(word, quotas[i].spot))
			return true;
	}
	return false;
}

gint64 rg_sim_quota_left(const RgSimCall *call, const char *code)
{
	const json_t *limit = code ? json_object_get(call->knobs->quotas, code) : NULL;
	/* A dry run asks for permission and form only. */
	if (!limit || rg_sim_param_bool(call->params, "DryRun", false))
		return G_MAXINT64;
	gint64 left = json_integer_value(limit);
	g_autoptr(GPtrArray) all = rg_sim_world_all(call->region, RG_SIM_INSTANCE);
	for (unsigned i = 0; i < all->len; i++) {
		const json_t *instance = g_ptr_array_index(all, i);
		const char *type = rg_sim_doc_str(instance, "instanceType");
		bool spot = *rg_sim_doc_str(instance, "instanceLifecycle") != '\0';
		if (rg_sim_placement_holds(instance) &&
			g_strcmp0(rg_sim_quota_code(type, spot), code) == 0)
			left -= rg_sim_type_vcpus(rg_sim_type_find(call->world->data, type));
	}
	return MAX(left, 0);
}

bool rg_sim_quota_fail(RgSimCall *call, const char *code)
{
	gint64 limit = json_integer_value(json_object_get(call->knobs->quotas, code));
	for (size_t i = 0; i < G_N_ELEMENTS(quotas); i++) {
		if (g_str_equal(code, quotas[i].spot))
			return rg_sim_fail(call, 400, "MaxSpotInstanceCountExceeded",
				"Max spot instance count exceeded");
	}
	return rg_sim_fail(call, 400, "VcpuLimitExceeded",
		"You have requested more vCPU capacity than your current vCPU limit of "
		"%" G_GINT64_FORMAT
		" allows for the instance bucket that the specified instance type belongs to. "
		"Please visit http://aws.amazon.com/contact-us/ec2-request to request an "
		"adjustment to this limit.",
		limit);
}
