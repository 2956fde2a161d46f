#include "provider/internal.h"

#include <string.h>

static const struct {
	const char *name, *code;
} classes[] = {
	[RG_CLASS_OK] = {"ok", "provider.unknown"},
	[RG_CLASS_CAPACITY] = {"capacity", "provider.capacity"},
	[RG_CLASS_QUOTA] = {"quota", "provider.quota"},
	[RG_CLASS_DENIED] = {"denied", "provider.denied"},
	[RG_CLASS_THROTTLED] = {"throttled", "provider.throttled"},
	[RG_CLASS_CONFLICT] = {"conflict", "provider.conflict"},
	[RG_CLASS_INVALID] = {"invalid", "provider.invalid"},
	[RG_CLASS_TRANSIENT] = {"transient", "provider.transient"},
	[RG_CLASS_GONE] = {"gone", "provider.gone"},
	[RG_CLASS_UNKNOWN] = {"unknown", "provider.unknown"},
	[RG_CLASS_CANCELED] = {"canceled", "provider.canceled"},
};

const char *rg_class_name(RgClass class_)
{
	return classes[class_].name;
}

const char *rg_class_code(RgClass class_)
{
	return classes[class_].code;
}

RgClass rg_class_find(const char *name, bool *known)
{
	for (size_t i = 0; name && i < G_N_ELEMENTS(classes); i++) {
		if (g_str_equal(classes[i].name, name)) {
			*known = true;
			return (RgClass)i;
		}
	}
	*known = false;
	return RG_CLASS_UNKNOWN;
}

RgClass rg_class_of_code(const char *diag_code)
{
	for (size_t i = RG_CLASS_CAPACITY; i < G_N_ELEMENTS(classes); i++) {
		if (g_str_equal(classes[i].code, diag_code))
			return (RgClass)i;
	}
	if (g_str_equal(diag_code, "provider.credentials") ||
		g_str_equal(diag_code, "provider.read-only"))
		return RG_CLASS_DENIED;
	/* A request without an answer; trying again later may help, except after a failed TLS
	 * set-up. */
	if (!g_str_equal(diag_code, "http.tls") && g_str_has_prefix(diag_code, "http."))
		return RG_CLASS_TRANSIENT;
	return RG_CLASS_UNKNOWN;
}
