/* A cloud's own terms, for messages: the words of the module's schema.json, or the usual ones. Each
 * forms its plural with an s. The texts are interned. */
#pragma once
#include <glib.h>
#include <jansson.h>

typedef struct {
	const char *instance_type, *zone, *region;
	const char *placement_group; /* machines close to each other */
	const char *fast_network;    /* what the nodes of a gang share data through */
	/* NULL: NCCL uses it in any image. Otherwise the libraries that, of Ray's own images, only
	 * those with -extra in their tag contain. */
	const char *fast_network_libraries;
	const char *without_fast_network; /* what nodes without it use; NULL: not stated */
} RgWords;

/* `words`: from a schema.json; may be NULL or incomplete. */
RgWords rg_words_of(const json_t *words);

/* Orders the texts of a GPtrArray or a GStrv by their bytes. */
gint rg_by_text(gconstpointer a, gconstpointer b);

/* A place for messages: "cloud north-1"; only the provider if it has no regions (an empty region,
 * or NULL). g_free. */
char *rg_place_text(const char *provider, const char *region);
/* The shorter form: "north-1", or the provider. Borrowed. */
const char *rg_place_name(const char *provider, const char *region);

/* A word for a command to paste into a shell: quoted if it must be. g_free. */
char *rg_shell_word(const char *word);
