#include "base/redact.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include "base/json.h"

#define SECRET_MIN 8
#define MARK "[redacted]"

/* Part of the log sink: the forms in which registered secrets may appear, longest first. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static GPtrArray *forms; /* GBytes */

static gint by_length(gconstpointer a, gconstpointer b)
{
	size_t len_a = g_bytes_get_size(*(GBytes *const *)a);
	size_t len_b = g_bytes_get_size(*(GBytes *const *)b);
	return (len_a < len_b) - (len_a > len_b);
}

static void add_form(const char *text, size_t len)
{
	g_autoptr(GBytes) form = g_bytes_new(text, len);
	if (!g_ptr_array_find_with_equal_func(forms, form, g_bytes_equal, NULL))
		g_ptr_array_add(forms, g_steal_pointer(&form));
}

/* The text as it is, in URLs and form bodies, in JSON strings and in XML. */
static void add_escaped(const char *text)
{
	add_form(text, strlen(text));
	g_autofree char *url = g_uri_escape_string(text, NULL, FALSE);
	add_form(url, strlen(url));
	json_auto_t *string = json_string(text);
	if (string) { /* UTF-8 */
		g_autofree char *json = rg_json_canonical(string);
		add_form(json + 1, strlen(json) - 2);
		g_autofree char *xml = g_markup_escape_text(text, -1);
		add_form(xml, strlen(xml));
	}
}

/* Base64 of a text that contains the secret `shift` bytes after a group of three: only the digits
 * that depend on the secret alone. */
static void add_base64(const char *secret, size_t len, size_t shift)
{
	g_autofree char *padded = g_malloc0(shift + len);
	memcpy(padded + shift, secret, len);
	g_autofree char *digits = g_base64_encode((const guchar *)padded, shift + len);
	digits[(shift + len) * 8 / 6] = '\0';
	const char *own = digits + (shift * 8 + 5) / 6;
	add_escaped(own);
	g_autofree char *url_safe = g_strdup(own);
	g_strdelimit(g_strdelimit(url_safe, "+", '-'), "/", '_');
	add_form(url_safe, strlen(url_safe));
}

void rg_redact_add(const char *secret, size_t len)
{
	if (len < SECRET_MIN)
		return;
	pthread_mutex_lock(&lock);
	if (!forms)
		forms = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
	add_form(secret, len);
	if (!memchr(secret, '\0', len)) {
		g_autofree char *text = g_strndup(secret, len);
		add_escaped(text);
	}
	for (size_t shift = 0; shift < 3; shift++)
		add_base64(secret, len, shift);
	g_ptr_array_sort(forms, by_length);
	pthread_mutex_unlock(&lock);
}

static void replace_all(GString *text, const char *form, size_t form_len)
{
	size_t from = 0;
	while (from < text->len) {
		const char *hit = memmem(text->str + from, text->len - from, form, form_len);
		if (!hit)
			return;
		from = (size_t)(hit - text->str);
		g_string_erase(text, (gssize)from, (gssize)form_len);
		g_string_insert(text, (gssize)from, MARK);
		from += strlen(MARK);
	}
}

char *rg_redact(const char *text, size_t len)
{
	GString *result = g_string_new_len(text, (gssize)len);
	pthread_mutex_lock(&lock);
	for (guint i = 0; forms && i < forms->len; i++) {
		size_t form_len;
		const char *form = g_bytes_get_data(g_ptr_array_index(forms, i), &form_len);
		replace_all(result, form, form_len);
	}
	pthread_mutex_unlock(&lock);
	return g_string_free(result, FALSE);
}
