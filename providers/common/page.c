#include "common/page.h"

void mod_page_clear(ModPage *page)
{
	if (page->resources)
		g_string_free(page->resources, TRUE);
	if (page->shared)
		g_string_free(page->shared, TRUE);
	*page = (ModPage){0};
}

static int append_bytes(const char *bytes, size_t len, void *text)
{
	g_string_append_len(text, bytes, (gssize)len);
	return 0;
}

static void append_json(GString *text, const json_t *value)
{
	json_dump_callback(value, append_bytes, text, JSON_COMPACT | JSON_ENCODE_ANY);
}

static bool is_plain(const char *text)
{
	for (; *text; text++)
		if ((guchar)*text < ' ' || *text == '"' || *text == '\\')
			return false;
	return true;
}

/* `,"name":"text"`; nothing for NULL. A list has thousands of these, nearly all ids and words
 * without escapes: they are copied, without the JSON writer. */
static void append_text(GString *out, const char *name, const char *text)
{
	if (!text)
		return;
	g_string_append(out, ",\"");
	g_string_append(out, name);
	g_string_append(out, "\":");
	if (is_plain(text)) {
		g_string_append_c(out, '"');
		g_string_append(out, text);
		g_string_append_c(out, '"');
	} else {
		json_auto_t *value = json_string(text);
		append_json(out, value);
	}
}

static void append_own(GString *out, const json_t *attributes, const char *const *own)
{
	size_t begin = out->len;
	for (; *own; own++)
		append_text(out, *own, json_string_value(json_object_get(attributes, *own)));
	if (out->len > begin)
		out->str[begin] = '{'; /* instead of the comma */
	else
		g_string_append_c(out, '{');
	g_string_append_c(out, '}');
}

/* The members that adjacent resources may have in common: all except id and address. */
static void append_common(GString *out, const ModFound *found, const json_t *attributes)
{
	g_string_append(out, "\"attributes\":");
	append_json(out, attributes);
	append_text(out, "state", found->state);
	append_text(out, "token", found->token);
	append_text(out, "status", found->status);
	append_text(out, "lineage", found->lineage);
}

static void append_shared(ModPage *page, const ModFound *found, const char *const *own)
{
	json_auto_t *attributes = json_copy(mod_unconst(found->attributes));
	for (; *own; own++)
		json_object_del(attributes, *own);
	g_string_append(page->shared, page->shared->len ? ",{" : "{");
	append_common(page->shared, found, attributes);
	g_string_append_c(page->shared, '}');
	page->n_shared++;
	page->is_shared = true;
}

void mod_page_add(ModPage *page, const ModFound *found, const char *const *own)
{
	if (!page->resources) {
		page->resources = g_string_new(NULL);
		page->shared = g_string_new(NULL);
	}
	g_string_append(page->resources, page->resources->len ? ",{" : "{");
	if (own) {
		if (!page->is_shared)
			append_shared(page, found, own);
		g_string_append_printf(
			page->resources, "\"shared\":%u,\"attributes\":", page->n_shared - 1);
		append_own(page->resources, found->attributes, own);
	} else {
		append_common(page->resources, found, found->attributes);
	}
	append_text(page->resources, "id", found->id);
	append_text(page->resources, "address", found->address);
	g_string_append_c(page->resources, '}');
}

void mod_page_differs(ModPage *page)
{
	page->is_shared = false;
}

rgp_status mod_page_give(ModPage *page, const ModTalk *talk, const char *kind)
{
	if (!page->resources || !page->resources->len)
		return RGP_OK;
	g_autofree char *text =
		g_strdup_printf("{\"kind\":\"%s\",\"resources\":[%s],\"shared\":[%s]}", kind,
			page->resources->str, page->shared->str);
	g_string_truncate(page->resources, 0);
	g_string_truncate(page->shared, 0);
	page->n_shared = 0;
	page->is_shared = false;
	return talk->host->result(talk->call, "page", mod_bytes(text));
}
