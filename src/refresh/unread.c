/* An attribute that a module requests and its `list` never reports would look as if someone had
 * removed it from every resource, and might replace them all. Right after our own creates or
 * updates, that is taken for what it is: a fault of the module. */
#include "refresh/internal.h"

#include <string.h>
#include "resource/expr.h"

/* Since the cloud must show them. */
#define RECENT_S 600
/* One alone may really have lost it. */
#define ENOUGH 2

static bool is_recent(const RgReader *reader, const RgResource *recorded)
{
	return recorded->id && !recorded->updating && !recorded->leaving &&
	       !rg_reader_is_young(reader, recorded) &&
	       rg_reader_young_for_s(reader, recorded) > -RECENT_S;
}

static bool is_empty(const json_t *value)
{
	const char *text = json_string_value(value);
	return !value || json_is_null(value) || (text && !*text) ||
	       ((json_is_array(value) || json_is_object(value)) && json_array_size(value) == 0 &&
		       json_object_size(value) == 0);
}

/* The cloud must report it: it has a value other than the default. */
static bool must_be_seen(const RgAttribute *attribute, const json_t *value)
{
	return rg_reader_is_telling(attribute) && !is_empty(value) && !rg_expr_has_refs(value) &&
	       !json_equal(value, attribute->default_value);
}

/* Adds the names that a record has and its view does not to `missing`; the others to `seen`. */
static void compare(const RgReader *reader, const RgResource *recorded, const RgResource *observed,
	json_t *missing, json_t *seen)
{
	const RgKind *kind = rg_reader_kind(reader, recorded);
	rg_json_foreach_member (name, value, recorded->attrs) {
		if (!must_be_seen(rg_kind_attribute(kind, name), value))
			continue;
		g_autofree char *key = g_strconcat(kind->name, " ", name, NULL);
		if (!is_empty(json_object_get(observed->attrs, name)))
			json_object_set_new(seen, key, json_true());
		else
			json_object_set_new(missing, key,
				json_integer(
					json_integer_value(json_object_get(missing, key)) + 1));
	}
}

static void report_unread(RgReader *reader, const char *key, json_int_t n)
{
	const char *name = strchr(key, ' ') + 1;
	g_autofree char *kind = g_strndup(key, (gsize)(name - 1 - key));
	RgDiag *diag = rg_diags_error(reader->diags, "provider.bad-result",
		"provider %s does not report %s of %s, for any of %d that raygpu created or "
		"changed a few minutes ago",
		rg_provider_name(reader->provider), name, kind, (int)n);
	rg_diag_detail(diag, "nothing is changed because of it: it would look as if someone had "
			     "removed it from all of them");
	rg_diag_hint(diag,
		"report it to the author of the module, unless something in your "
		"account removes it at once; in %d minutes it counts as changed "
		"outside of raygpu",
		RECENT_S / 60);
}

bool rg_reader_check_read(RgReader *reader)
{
	json_auto_t *missing = json_object(), *seen = json_object();
	bool complete = true;
	rg_ptr_foreach (const RgResource, recorded, reader->recorded) {
		const RgResource *observed =
			is_recent(reader, recorded) ? rg_reader_find(reader, recorded) : NULL;
		if (observed && observed->presence == RG_PRESENT)
			compare(reader, recorded, observed, missing, seen);
	}
	rg_json_foreach_member (key, n, missing) {
		if (json_integer_value(n) < ENOUGH || json_object_get(seen, key))
			continue;
		report_unread(reader, key, json_integer_value(n));
		complete = false;
	}
	return complete;
}
