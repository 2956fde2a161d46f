/* Why a type does not satisfy a request: one reason, for the accelerator that it comes closest
 * to. */
#include <string.h>
#include "fit/offers.h"

static char *number(double value)
{
	char text[G_ASCII_DTOSTR_BUF_SIZE];
	return g_strdup(g_ascii_formatd(text, sizeof text, "%.6g", value));
}

static const char *sign(RgBoundKind kind)
{
	switch (kind) {
	case RG_BOUND_MORE:
		return ">";
	case RG_BOUND_EQUAL:
		return "=";
	case RG_BOUND_LESS:
		return "<";
	case RG_BOUND_MOST:
		return "<=";
	case RG_BOUND_NONE:
	case RG_BOUND_LEAST:
		break;
	}
	return ">=";
}

/* About the host, whatever accelerator is requested. */
static char *reject_host(const RgWish *wish, const RgInstanceType *type)
{
	if (!type->gpu)
		return g_strdup("no GPU");
	if (!g_str_equal(type->gpu->vendor, "NVIDIA"))
		return g_strdup_printf("%s GPUs, not NVIDIA's", type->gpu->vendor);
	if (type->gpu_fraction != 1)
		return g_strdup("a slice of a GPU, not whole ones");
	if (!wish->any_arch && !g_str_equal(type->arch, "x86_64"))
		return g_strdup_printf("an %s host, not x86_64", type->arch);
	return NULL;
}

char *rg_offers_reject_network(const RgWish *wish, const RgInstanceType *type)
{
	if (type->network_gbps >= wish->min_gbps)
		return NULL;
	g_autofree char *least = number(wish->min_gbps), *has = number(type->network_gbps);
	if (type->network_gbps == 0)
		return g_strdup_printf("network speed unknown, not >=%s Gbps", least);
	return g_strdup_printf("%s Gbps of network, not >=%s", has, least);
}

char *rg_offers_reject_market(RgPriceKind market, const RgInstanceType *type)
{
	static const char *const words[] = {
		[RG_PRICE_ON_DEMAND] = "on demand", [RG_PRICE_SPOT] = "on spot"};
	if (type->markets & RG_SOLD(market))
		return NULL;
	RgPriceKind other = market == RG_PRICE_SPOT ? RG_PRICE_ON_DEMAND : RG_PRICE_SPOT;
	return g_strdup_printf("not sold %s, only %s", words[market],
		(type->markets & RG_SOLD(other)) ? words[other] : "by reservation");
}

static char *reject_bound(const RgBound *bound, double value, double scale, const char *unit)
{
	if (rg_bound_holds(bound, value))
		return NULL;
	g_autofree char *has = number(value / scale), *asked = number(bound->value / scale);
	return g_strdup_printf("%s%s, not %s%s", has, unit, sign(bound->kind), asked);
}

static bool names_model(const RgAccelerator *asked, const RgGpus *gpus, const RgGpuModel *model)
{
	for (size_t i = 0; asked->names && asked->names[i]; i++) {
		if (rg_gpus_is_model(gpus, asked->names[i], model))
			return true;
	}
	return !asked->names;
}

/* Of `nearness`: nothing, then a supported host, then the model, then its requirements, then their
 * number, then the network, then the region. */
enum { NEAR_NOT, NEAR_HOST, NEAR_MODEL, NEAR_BOUND, NEAR_COUNT, NEAR_NETWORK, NEAR_REGION };

static RgVerdict judge_accelerator(const RgWish *wish, const RgAccelerator *asked,
	const RgGpus *gpus, const RgInstanceType *type)
{
	const RgGpuModel *model = type->gpu;
	if (!names_model(asked, gpus, model)) {
		g_autofree char *names = g_strjoinv(" or ", asked->names);
		return (RgVerdict){g_strdup_printf("%s, not %s", model->name, names), 0, NEAR_HOST};
	}
	char *why = reject_bound(&asked->memory_gb, model->memory_gb, 1, " GB a GPU");
	if (!why)
		why = reject_bound(
			&asked->memory_gib, type->gpu_memory_mib / 1024.0, 1, " GiB a GPU");
	if (!why)
		why = reject_bound(
			&asked->capability, model->compute_capability, 10, " compute capability");
	if (why)
		return (RgVerdict){why, 0, NEAR_BOUND};
	if (type->gpus == asked->count || (wish->any_count && !asked->counted))
		return (RgVerdict){NULL, 0, NEAR_NETWORK};
	why = g_strdup_printf(
		"%u GPU%s, not %u", type->gpus, type->gpus == 1 ? "" : "s", asked->count);
	return (RgVerdict){why, 0, NEAR_COUNT};
}

/* The first accelerator that the type satisfies, else the one that it comes closest to. */
static RgVerdict judge_gpus(const RgWish *wish, const RgGpus *gpus, const RgInstanceType *type)
{
	RgVerdict nearest = {NULL, 0, wish->accelerators ? NEAR_NOT : NEAR_NETWORK};
	for (guint i = 0; wish->accelerators && i < wish->accelerators->len; i++) {
		RgVerdict verdict =
			judge_accelerator(wish, wish->accelerators->pdata[i], gpus, type);
		verdict.preference = i;
		if (verdict.why && verdict.nearness <= nearest.nearness) {
			g_free(verdict.why);
			continue;
		}
		g_free(nearest.why);
		nearest = verdict;
		if (!verdict.why)
			break;
	}
	return nearest;
}

static bool asks_by_name(const RgWish *wish, const RgGpus *gpus, const RgGpuModel *model)
{
	for (guint i = 0; model && wish->accelerators && i < wish->accelerators->len; i++) {
		const RgAccelerator *asked = wish->accelerators->pdata[i];
		if (asked->names && names_model(asked, gpus, model))
			return true;
	}
	return false;
}

RgVerdict rg_offers_judge(const RgWish *wish, const RgGpus *gpus, const RgInstanceType *type)
{
	RgVerdict verdict = {reject_host(wish, type), 0, NEAR_NOT};
	if (verdict.why && asks_by_name(wish, gpus, type->gpu))
		verdict.nearness = NEAR_MODEL;
	if (verdict.why)
		return verdict;
	verdict = judge_gpus(wish, gpus, type);
	if (verdict.why)
		return verdict;
	verdict.why = rg_offers_reject_network(wish, type);
	if (!verdict.why && wish->placement && type->refuses_placement)
		verdict.why = g_strdup("cannot be placed in a cluster placement group");
	if (!verdict.why && wish->rdma && type->rdma_adapters == 0)
		verdict.why = g_strdup("no RDMA adapters");
	verdict.nearness = verdict.why ? NEAR_NETWORK : NEAR_REGION;
	return verdict;
}
