/* Types that only a spec names, and raygpu never chooses: custom_types.csv, whose names give their
 * size, and attached_gpus.csv, GPUs beside a host that is in the table without them. */
#include <math.h>
#include <string.h>
#include "catalog/internal.h"

#define MIB 1024.0

enum { C_NAME, C_FAMILY, C_ARCH, C_VCPUS, C_LEAST, C_MOST, C_TOTAL, C_STEP, C_SAME };
enum { A_NAME, A_MODEL, A_FAMILIES, A_GPUS, A_VCPUS, A_MEMORY };

/* A row of custom_types.csv; texts belong to the catalog. */
typedef struct Form Form;
struct Form {
	const char *name, *family, *arch, *vcpus;
	const Form *same_as; /* the form by whose name these types are known; NULL: its own */
	GRegex *regex;
	double least, most; /* GiB for each vCPU */
	double total;	    /* GiB, 0: no other limit */
	unsigned step;	    /* MiB; 0: the name has no memory, each vCPU has `most` */
};

/* A row of attached_gpus.csv. */
typedef struct {
	const char *name, *families;
	const RgGpuModel *gpu;
	unsigned gpus, most_vcpus;
	double most_gib;
} Attachment;

struct RgDerived {
	GMutex lock; /* of `types`, which grow while the catalog is read */
	GPtrArray *forms, *attachments;
	GHashTable *types; /* char* -> RgInstanceType*, owned */
	bool priced;	   /* the prices of hosts are complete */
};

static void form_free(gpointer data)
{
	Form *form = data;
	g_clear_pointer(&form->regex, g_regex_unref);
	g_free(form);
}

void rg_derived_type_free(gpointer data)
{
	RgInstanceType *type = data;
	g_ptr_array_unref((GPtrArray *)(uintptr_t)type->prices);
	g_free(type);
}

RgDerived *rg_derived_new(void)
{
	RgDerived *derived = g_new0(RgDerived, 1);
	g_mutex_init(&derived->lock);
	derived->forms = g_ptr_array_new_with_free_func(form_free);
	derived->attachments = g_ptr_array_new_with_free_func(g_free);
	derived->types =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, rg_derived_type_free);
	return derived;
}

void rg_derived_free(RgDerived *derived)
{
	g_hash_table_unref(derived->types);
	g_ptr_array_unref(derived->attachments);
	g_ptr_array_unref(derived->forms);
	g_mutex_clear(&derived->lock);
	g_free(derived);
}

/* ---- the tables */

/* "n2-custom-VCPUS-MIB" as an expression with the groups v and m. */
static GRegex *form_regex(const char *name)
{
	g_autofree char *escaped = g_regex_escape_string(name, -1);
	g_autoptr(GString) text = g_string_new(escaped);
	g_string_replace(text, "VCPUS", "(?<v>[1-9][0-9]{0,4})", 1);
	g_string_replace(text, "MIB", "(?<m>[1-9][0-9]{0,8})", 1);
	g_string_prepend(text, "^");
	g_string_append(text, "$");
	return g_regex_new(text->str, G_REGEX_DOLLAR_ENDONLY, 0, NULL);
}

/* One of the rows above that is not an alias itself. */
static bool read_same_as(
	const RgDerived *derived, const RgTable *table, size_t row, Form *form, RgDiags *diags)
{
	const char *name = rg_table_cell(table, row, C_SAME);
	for (guint i = 0; i < derived->forms->len && !form->same_as; i++) {
		const Form *one = derived->forms->pdata[i];
		if (one != form && !one->same_as && g_str_equal(one->name, name))
			form->same_as = one;
	}
	if (form->same_as || !*name)
		return true;
	rg_table_complain(table, row, C_SAME, "the name of a row above", diags);
	return false;
}

static bool read_form(void *self, const RgTable *table, size_t row, RgDiags *diags)
{
	RgCatalog *catalog = self;
	Form *form = g_new0(Form, 1);
	const char *name = rg_table_cell(table, row, C_NAME);
	g_ptr_array_add(catalog->derived->forms, form);
	form->family = rg_catalog_keep(catalog, rg_table_cell(table, row, C_FAMILY));
	form->arch = rg_catalog_keep(catalog, rg_table_cell(table, row, C_ARCH));
	form->vcpus = rg_catalog_keep(catalog, rg_table_cell(table, row, C_VCPUS));
	form->name = rg_catalog_keep(catalog, name);
	form->regex = form_regex(name);
	if (!form->regex || !strstr(name, "VCPUS")) {
		rg_table_complain(table, row, C_NAME, "a name with VCPUS", diags);
		return false;
	}
	static const char *const ranges = "^[0-9]{1,5}(-[0-9]{1,5}/[1-9][0-9]{0,3})?( "
					  "[0-9]{1,5}(-[0-9]{1,5}/[1-9][0-9]{0,3})?)*$";
	if (!g_regex_match_simple(ranges, form->vcpus, G_REGEX_DOLLAR_ENDONLY, 0)) {
		rg_table_complain(table, row, C_VCPUS, "numbers, and ranges like 2-32/2", diags);
		return false;
	}
	return read_same_as(catalog->derived, table, row, form, diags) &&
	       rg_table_amount(table, row, C_LEAST, false, &form->least, diags) &&
	       rg_table_amount(table, row, C_MOST, false, &form->most, diags) &&
	       rg_table_amount(table, row, C_TOTAL, true, &form->total, diags) &&
	       rg_table_count_or_none(table, row, C_STEP, &form->step, diags);
}

static bool read_attachment(void *self, const RgTable *table, size_t row, RgDiags *diags)
{
	RgCatalog *catalog = self;
	Attachment *attachment = g_new0(Attachment, 1);
	g_ptr_array_add(catalog->derived->attachments, attachment);
	attachment->name = rg_catalog_keep(catalog, rg_table_cell(table, row, A_NAME));
	attachment->families = rg_catalog_keep(catalog, rg_table_cell(table, row, A_FAMILIES));
	attachment->gpu = rg_gpus_find(catalog->gpus, rg_table_cell(table, row, A_MODEL));
	if (!attachment->gpu) {
		rg_table_complain(table, row, A_MODEL, "a model of gpu_models.csv", diags);
		return false;
	}
	return rg_table_count(table, row, A_GPUS, &attachment->gpus, diags) &&
	       rg_table_count(table, row, A_VCPUS, &attachment->most_vcpus, diags) &&
	       rg_table_amount(table, row, A_MEMORY, false, &attachment->most_gib, diags);
}

bool rg_catalog_load_derived(RgCatalog *catalog, const RgCatalogSource *source, RgDiags *diags)
{
	static const RgDataFile files[] = {
		{"custom_types.csv",
			{"instance_type", "family", "arch", "vcpus", "least_gib_per_vcpu",
				"most_gib_per_vcpu", "most_gib", "step_mib", "?same_as"},
			read_form},
		{"attached_gpus.csv",
			{"accelerator", "gpu_model", "families", "gpus", "most_vcpus", "most_gib"},
			read_attachment},
	};
	size_t len;
	bool good = true;
	for (size_t i = 0; i < G_N_ELEMENTS(files); i++)
		if (source->text(source->data, files[i].name, &len))
			good &= rg_catalog_read_files(&files[i], 1, source, catalog, diags);
	return good;
}

/* ---- a name that gives its size */

/* Is it among "1 2-32/2 36-128/4"? `words`: the same in English. */
static bool has_vcpus(const Form *form, unsigned vcpus, GString *words)
{
	g_auto(GStrv) ranges = g_strsplit(form->vcpus, " ", -1);
	bool found = false;
	for (char **range = ranges; *range; range++) {
		char *rest;
		guint64 first = g_ascii_strtoull(*range, &rest, 10), last = first, step = 1;
		if (*rest == '-')
			last = g_ascii_strtoull(rest + 1, &rest, 10);
		if (*rest == '/')
			step = g_ascii_strtoull(rest + 1, NULL, 10);
		found |= vcpus >= first && vcpus <= last && (vcpus - first) % step == 0;
		g_string_append_printf(
			words, "%s%" G_GUINT64_FORMAT, words->len ? ", " : "", first);
		if (last > first)
			g_string_append_printf(words, " to %" G_GUINT64_FORMAT, last);
		if (step > 1)
			g_string_append_printf(words, " in steps of %" G_GUINT64_FORMAT, step);
	}
	return found;
}

/* The rule that the size breaks, NULL: none. g_free. */
static char *form_refusal(const Form *form, unsigned vcpus, unsigned mib)
{
	g_autoptr(GString) words = g_string_new(NULL);
	double least = ceil(form->least * MIB * vcpus), most = floor(form->most * MIB * vcpus);
	if (!has_vcpus(form, vcpus, words))
		return g_strdup_printf("it has %u vCPUs, and the type has %s", vcpus, words->str);
	if (form->step && mib % form->step)
		return g_strdup_printf(
			"its memory of %u MiB is not a multiple of %u", mib, form->step);
	if (form->step && (mib < least || mib > most))
		return g_strdup_printf("with %u vCPUs it has %g to %g MiB (%g to %g GiB for each), "
				       "and not %u",
			vcpus, least, most, form->least, form->most, mib);
	if (form->total > 0 && mib > form->total * MIB)
		return g_strdup_printf("it has at most %g MiB (%g GiB), and not %u",
			form->total * MIB, form->total, mib);
	return NULL;
}

static char *form_name(const Form *form, unsigned vcpus, unsigned mib)
{
	g_autofree char *v = g_strdup_printf("%u", vcpus), *m = g_strdup_printf("%u", mib);
	g_autoptr(GString) name = g_string_new(form->name);
	g_string_replace(name, "VCPUS", v, 1);
	g_string_replace(name, "MIB", m, 1);
	return g_string_free(g_steal_pointer(&name), FALSE);
}

static unsigned group_of(const GMatchInfo *match, const char *name)
{
	g_autofree char *text = g_match_info_fetch_named(match, name);
	return text ? (unsigned)g_ascii_strtoull(text, NULL, 10) : 0;
}

RgInstanceType *rg_derived_type_new(
	const char *family, const char *arch, unsigned vcpus, double memory_gib)
{
	RgInstanceType *type = g_new0(RgInstanceType, 1);
	*type = (RgInstanceType){.family = family,
		.arch = arch,
		.vcpus = vcpus,
		.memory_gib = memory_gib,
		.markets = RG_SOLD(RG_PRICE_ON_DEMAND) | RG_SOLD(RG_PRICE_SPOT),
		.lowest_microusd_hour = RG_MONEY_UNKNOWN,
		.prices = g_ptr_array_new_with_free_func(g_free)};
	return type;
}

static const RgInstanceType *known_type(const RgCatalog *catalog, const char *name)
{
	const RgInstanceType *listed = g_hash_table_lookup(catalog->type_of_name, name);
	return listed ? listed : g_hash_table_lookup(catalog->derived->types, name);
}

void rg_derived_add(RgCatalog *catalog, RgInstanceType *type)
{
	g_mutex_lock(&catalog->derived->lock);
	g_hash_table_insert(catalog->derived->types, (void *)(uintptr_t)type->name, type);
	g_mutex_unlock(&catalog->derived->lock);
}

/* Takes the type. */
static const RgInstanceType *add_type(
	const RgCatalog *catalog, RgInstanceType *type, const char *name)
{
	type->name = g_strdup(name);
	g_hash_table_insert(catalog->derived->types, (void *)(uintptr_t)type->name, type);
	return type;
}

static const RgInstanceType *find_custom(const RgCatalog *catalog, const char *name, char **why)
{
	rg_ptr_foreach (const Form, form, catalog->derived->forms) {
		g_autoptr(GMatchInfo) match = NULL;
		if (!g_regex_match(form->regex, name, 0, &match))
			continue;
		unsigned vcpus = group_of(match, "v"), mib = group_of(match, "m");
		form = form->same_as ? form->same_as : form;
		*why = form_refusal(form, vcpus, mib);
		if (*why && !form->step) { /* one more unknown name, not a size */
			g_clear_pointer(why, g_free);
			continue;
		}
		if (*why)
			return NULL;
		g_autofree char *only = form_name(form, vcpus, mib);
		const RgInstanceType *known = known_type(catalog, only);
		double gib = form->step ? mib / MIB : form->most * vcpus;
		return known ? known
			     : add_type(catalog,
				       rg_derived_type_new(form->family, form->arch, vcpus, gib),
				       only);
	}
	return NULL;
}

/* ---- a host with GPUs */

static const RgInstanceType *find_locked(const RgCatalog *catalog, const char *name, char **why);

/* The rule that the host breaks, NULL: none. g_free. */
static char *attachment_refusal(const RgDerived *derived, const RgInstanceType *host,
	const char *accelerator, unsigned gpus, const Attachment **found)
{
	g_autoptr(GString) counts = g_string_new(NULL);
	rg_ptr_foreach (const Attachment, one, derived->attachments) {
		g_auto(GStrv) families = g_strsplit(one->families, " ", -1);
		if (!g_str_equal(one->name, accelerator) ||
			!g_strv_contains((const char *const *)families, host->family))
			continue;
		if (one->gpus == gpus)
			*found = one;
		g_string_append_printf(counts, "%s%u", counts->len ? ", " : "", one->gpus);
	}
	const Attachment *one = *found;
	if (!counts->len)
		return g_strdup_printf("%s cannot be attached to %s", accelerator, host->name);
	if (!one)
		return g_strdup_printf("machines have %s of %s", counts->str, accelerator);
	if (host->vcpus > one->most_vcpus)
		return g_strdup_printf("a host with %u of %s has at most %u vCPUs, and %s has %u",
			gpus, accelerator, one->most_vcpus, host->name, host->vcpus);
	if (host->memory_gib > one->most_gib)
		return g_strdup_printf("a host with %u of %s has at most %g GiB of memory, and %s "
				       "has %g",
			gpus, accelerator, one->most_gib, host->name, host->memory_gib);
	return NULL;
}

/* Built in, without discounts; RG_MONEY_UNKNOWN: none is known, or the project file replaces it. */
static int64_t list_price(const RgInstanceType *type, const char *region, RgPriceKind kind)
{
	const RgPrice *price = type ? rg_catalog_find_price_of(type, region, kind) : NULL;
	if (!price || price->microusd_hour == RG_MONEY_UNKNOWN || rg_price_is_own(price))
		return RG_MONEY_UNKNOWN;
	return price->microusd_hour + price->discount_microusd;
}

/* The table's price of another host with these GPUs, less that host's: what the GPUs cost there. */
static bool gpus_price(
	const RgCatalog *catalog, const char *suffix, const RgPrice *of, int64_t *microusd)
{
	rg_ptr_foreach (const RgInstanceType, type, catalog->types) {
		if (!g_str_has_suffix(type->name, suffix))
			continue;
		g_autofree char *name = g_strndup(type->name, strlen(type->name) - strlen(suffix));
		const RgInstanceType *host = g_hash_table_lookup(catalog->type_of_name, name);
		int64_t both = list_price(type, of->region, of->kind);
		int64_t alone = list_price(host, of->region, of->kind);
		if (both != RG_MONEY_UNKNOWN && alone != RG_MONEY_UNKNOWN && both > alone) {
			*microusd = both - alone;
			return true;
		}
	}
	return false;
}

/* Among its first n. */
static bool has_price(const RgInstanceType *type, guint n, const RgPrice *like)
{
	for (guint i = 0; i < n; i++) {
		const RgPrice *price = type->prices->pdata[i];
		if (price->kind == like->kind && g_str_equal(price->region, like->region))
			return true;
	}
	return false;
}

/* Beside those of the project file for this very type. Of the host's prices a discount does not
 * count, as that of a listed host does not count for its types with GPUs. */
static void add_prices(const RgCatalog *catalog, const RgInstanceType *host, RgInstanceType *type)
{
	const char *suffix = type->name + strlen(host->name);
	guint given = type->prices->len;
	rg_ptr_foreach (const RgPrice, of, host->prices) {
		int64_t gpus;
		if (of->microusd_hour == RG_MONEY_UNKNOWN || has_price(type, given, of) ||
			!gpus_price(catalog, suffix, of, &gpus))
			continue;
		RgPrice *price = g_new(RgPrice, 1);
		*price = *of;
		price->microusd_hour += price->discount_microusd + gpus;
		price->discount_microusd = 0;
		price->quality = "derived";
		price->own = rg_price_is_own(of) ? of->own : NULL;
		rg_catalog_discount(catalog, type, price);
		g_ptr_array_add((GPtrArray *)(uintptr_t)type->prices, price);
	}
	rg_catalog_finish_type(type);
}

static RgInstanceType *attached_type_new(const RgInstanceType *host, const Attachment *one)
{
	RgInstanceType *type =
		rg_derived_type_new(host->family, host->arch, host->vcpus, host->memory_gib);
	type->gpu = one->gpu;
	type->gpus = one->gpus;
	type->gpu_fraction = 1;
	type->gpu_memory_mib = one->gpu->memory_mib;
	type->network_gbps = host->network_gbps;
	type->network_peak_gbps = host->network_peak_gbps;
	return type;
}

/* "HOST+ACCELERATOR:COUNT" */
static const RgInstanceType *find_attached(const RgCatalog *catalog, const char *name, char **why)
{
	g_auto(GStrv) parts = g_regex_split_simple(
		"^([^+]+)\\+([^+:]+):([1-9][0-9]{0,2})$", name, G_REGEX_DOLLAR_ENDONLY, 0);
	if (g_strv_length(parts) != 5)
		return NULL;
	const RgInstanceType *host = find_locked(catalog, parts[1], why);
	const Attachment *one = NULL;
	if (!host || host->gpu)
		return NULL;
	g_autofree char *only = g_strconcat(host->name, name + strlen(parts[1]), NULL);
	const RgInstanceType *known = known_type(catalog, only);
	if (known)
		return known;
	*why = attachment_refusal(catalog->derived, host, parts[2],
		(unsigned)g_ascii_strtoull(parts[3], NULL, 10), &one);
	if (*why)
		return NULL;
	RgInstanceType *type = attached_type_new(host, one);
	add_type(catalog, type, only);
	if (catalog->derived->priced)
		add_prices(catalog, host, type);
	return type;
}

static const RgInstanceType *find_locked(const RgCatalog *catalog, const char *name, char **why)
{
	const RgInstanceType *known = known_type(catalog, name);
	if (known)
		return known;
	return strchr(name, '+') ? find_attached(catalog, name, why)
				 : find_custom(catalog, name, why);
}

void rg_catalog_price_derived(RgCatalog *catalog)
{
	catalog->derived->priced = true;
	rg_hash_values (RgInstanceType, type, catalog->derived->types) {
		g_auto(GStrv) parts = g_strsplit(type->name, "+", 2);
		if (parts[1])
			add_prices(catalog, known_type(catalog, parts[0]), type);
	}
}

const RgInstanceType *rg_catalog_derive(const RgCatalog *catalog, const char *name, char **why)
{
	*why = NULL;
	g_mutex_lock(&catalog->derived->lock);
	const RgInstanceType *type = find_locked(catalog, name, why);
	g_mutex_unlock(&catalog->derived->lock);
	return type;
}

const RgInstanceType *rg_catalog_find_type(const RgCatalog *catalog, const char *name)
{
	g_autofree char *why = NULL;
	return rg_catalog_derive(catalog, name, &why);
}
