#include "catalog_folder.h"

/* While a catalog is opened. */
typedef struct {
	const char *folder;
	GPtrArray *texts;
} Folder;

static const char *folder_text(void *data, const char *name, size_t *len)
{
	const Folder *from = data;
	g_autofree char *path = g_build_filename(from->folder, name, NULL);
	char *text = NULL;
	if (!g_file_get_contents(path, &text, len, NULL))
		return NULL;
	g_ptr_array_add(from->texts, text);
	return text;
}

RgCatalog *catalog_folder_open(
	const char *folder, const char *provider, const char *region, RgDiags *diags)
{
	g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
	Folder from = {folder, texts};
	size_t len = 0;
	const char *text = folder_text(&from, "schema.json", &len);
	json_auto_t *schema = text ? json_loadb(text, len, 0, NULL) : NULL;
	RgWords words = rg_words_of(json_object_get(schema, "words"));
	RgCatalogSource source = {.provider = provider,
		.region = region,
		.words = &words,
		.text = folder_text,
		.data = &from};
	return rg_catalog_open_from(&source, diags);
}
