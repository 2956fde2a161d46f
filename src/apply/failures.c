#include "apply/internal.h"

/* Steps of one call that failed for the same reason share one diagnostic: 200 nodes, one refusal.
 */

typedef struct {
	GPtrArray *steps;
	const RgItemResult *result; /* the first one's */
} Alike;

struct Failures {
	GPtrArray *alike; /* Alike*, in the order of their first occurrence */
	GHashTable *by_key;
};

static void alike_free(void *data)
{
	g_ptr_array_unref(((Alike *)data)->steps);
	g_free(data);
}

Failures *failures_new(void)
{
	Failures *failures = g_new0(Failures, 1);
	failures->alike = g_ptr_array_new_with_free_func(alike_free);
	failures->by_key = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	return failures;
}

void failures_free(Failures *failures)
{
	g_ptr_array_unref(failures->alike);
	g_hash_table_unref(failures->by_key);
	g_free(failures);
}

void failures_add(Failures *failures, Step *step, const RgItemResult *result)
{
	g_autofree char *key = g_strdup_printf("%d %d %s %s", (int)result->class_, result->definite,
		result->code ? result->code : "", result->message ? result->message : "");
	Alike *alike = g_hash_table_lookup(failures->by_key, key);
	if (!alike) {
		alike = g_new0(Alike, 1);
		alike->steps = g_ptr_array_new();
		alike->result = result;
		g_ptr_array_add(failures->alike, alike);
		g_hash_table_insert(failures->by_key, g_steal_pointer(&key), alike);
	}
	g_ptr_array_add(alike->steps, step);
}

/* The module's message; for capacity it also says what happens to the rest. */
static void hint_new(const Apply *apply, RgDiag *diag, const RgItemResult *result, const Step *step)
{
	bool gang = gang_is_given_back(step);
	if (result->class_ != RG_CLASS_CAPACITY) {
		if (result->hint)
			rg_diag_hint(diag, "%s", result->hint);
		return;
	}
	g_autofree char *closed = candidates_closed(step);
	if (closed) {
		rg_diag_hint(diag,
			"%s: run apply again then, or give --capacity-timeout a later time to wait "
			"for it",
			closed);
		return;
	}
	const RgWords *words = rg_schema_words(rg_provider_get_schema(apply->provider));
	g_autofree char *usual = g_strdup_printf("the cloud has no capacity for these now: run "
						 "apply again later, or request another %s or %s",
		words->zone, words->instance_type);
	rg_diag_hint(diag, "%s; the created resources are %s", result->hint ? result->hint : usual,
		gang ? "removed, because the pool is a gang"
		     : "kept and recorded; `raygpu cost` shows what they cost");
}

static bool is_lack(const RgItemResult *result)
{
	return result->class_ == RG_CLASS_CAPACITY || result->class_ == RG_CLASS_QUOTA;
}

static RgDiag *diag_new(
	Apply *apply, const char *verb, const GPtrArray *failed, const RgItemResult *result)
{
	const RgPlanChange *change = ((Step *)failed->pdata[0])->change;
	g_autofree char *more =
		failed->len > 1 ? g_strdup_printf(" and %u more", failed->len - 1) : NULL;
	RgDiag *diag = rg_diags_error(apply->diags, rg_class_code(result->class_),
		"%s %s%s: %s%s%s", verb, change->address, more ? more : "",
		result->code ? result->code : "", result->code ? ": " : "",
		result->message ? result->message : rg_class_name(result->class_));
	rg_diag_at(diag, change->source);
	rg_diag_address(diag, change->address, result->attribute);
	rg_diag_cloud(diag, rg_provider_name(apply->provider), result->code, result->request_id);
	hint_new(apply, diag, result, failed->pdata[0]);
	g_autofree char *tried = is_lack(result) ? candidates_tried(apply, change->group) : NULL;
	if (tried)
		rg_diag_detail(diag, "%s", tried);
	return diag;
}

void failures_tell(Failures *failures, Apply *apply, const char *verb, const char *doubt)
{
	rg_ptr_foreach (const Alike, alike, failures->alike) {
		RgDiag *diag = diag_new(apply, verb, alike->steps, alike->result);
		if (doubt && !alike->result->definite)
			rg_diag_detail(diag, "%s", doubt);
		if (alike->result->definite && is_lack(alike->result))
			apply->result->lacking += alike->steps->len;
		for (guint k = 0; k < alike->steps->len; k++)
			step_fail(apply, alike->steps->pdata[k], diag);
	}
}
