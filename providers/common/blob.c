#include "common/blob.h"
#include <string.h>

void mod_bucket_clear(ModBucket *bucket)
{
	g_free(bucket->bucket);
	g_free(bucket->prefix);
	*bucket = (ModBucket){0};
}

bool mod_bucket_refuse(const ModTalk *talk, const char *hint, char *summary)
{
	mod_report_text(talk, RGP_CLASS_INVALID, summary, NULL, hint);
	g_free(summary);
	return false;
}

static bool is_bucket(const char *bucket)
{
	return g_regex_match_simple(
		"^[A-Za-z0-9][A-Za-z0-9._-]{1,253}$", bucket, G_REGEX_DOLLAR_ENDONLY, 0);
}

static bool is_prefix(const char *prefix)
{
	return g_regex_match_simple("^([A-Za-z0-9._~=+,@-]+/)*[A-Za-z0-9._~=+,@-]*$", prefix,
		       G_REGEX_DOLLAR_ENDONLY, 0) &&
	       !strstr(prefix, "..");
}

bool mod_bucket_open(const ModTalk *talk, const json_t *store, const char *form, ModBucket *bucket)
{
	g_auto(GStrv) parts = g_strsplit(mod_str(store, "place"), "/", 2);
	const char *prefix = parts[0] && parts[1] ? parts[1] : "";
	g_autofree char *hint = g_strconcat("it has the form ", form, NULL);
	if (parts[0] && strchr(parts[0], '@'))
		return mod_bucket_refuse(talk,
			"remove it and change it: credentials are those of the provider "
			"(raygpu-state(5))",
			g_strdup("the state's URL has credentials before its bucket"));
	if (!parts[0] || !is_bucket(parts[0]) || !is_prefix(prefix))
		return mod_bucket_refuse(talk, hint,
			g_strdup("the state's URL does not name a bucket and a prefix"));
	bucket->bucket = g_strdup(parts[0]);
	bucket->prefix = *prefix == '\0' || g_str_has_suffix(prefix, "/")
				 ? g_strdup(prefix)
				 : g_strconcat(prefix, "/", NULL);
	return true;
}

char *mod_bucket_key(const ModBucket *bucket, const char *name)
{
	return g_strconcat(bucket->prefix, name, NULL);
}

void mod_bucket_add_name(const ModBucket *bucket, const char *key, json_t *names)
{
	if (g_str_has_prefix(key, bucket->prefix) && key[strlen(bucket->prefix)] != '\0')
		json_array_append_new(names, json_string(key + strlen(bucket->prefix)));
}

void mod_bucket_note(const ModTalk *talk, const char *summary, const char *hint)
{
	const struct rgp_diag note = {
		.size = sizeof note, .severity = 2, .summary = summary, .hint = hint};
	talk->host->diag(talk->call, &note);
}

/* "Wed, 21 Oct 2015 07:28:00 GMT" (RFC 9110) as a Unix time; 0: it is not one. */
static int64_t http_date(const char *text)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	static const guint places[] = {1, 3, 4, 5, 6};
	g_auto(GStrv) parts = g_strsplit_set(text, " :", -1);
	gint64 values[G_N_ELEMENTS(places)];
	if (g_strv_length(parts) != 8 || strlen(parts[2]) != 3)
		return 0;
	for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
		if (!g_ascii_string_to_signed(parts[places[i]], 10, 0, 9999, &values[i], NULL))
			return 0;
	}
	const char *at = strstr(months, parts[2]);
	g_autoptr(GDateTime) date =
		at ? g_date_time_new_utc((int)values[1], (int)(at - months) / 3 + 1, (int)values[0],
			     (int)values[2], (int)values[3], (double)values[4])
		   : NULL;
	return date ? g_date_time_to_unix(date) : 0;
}

rgp_status mod_give_blob(const ModTalk *talk, const json_t *headers, const char *version,
	int64_t skew_s, struct rgp_bytes content)
{
	json_int_t modified_s = http_date(mod_str(headers, "last-modified"));
	json_int_t now_s = talk->host->now(talk->call) + skew_s;
	rgp_status status = talk->host->result(talk->call, "content", content);
	rgp_status given = mod_give(talk, "blob",
		json_pack("{s:s, s:I, s:I}", "version", version, "modified_s", modified_s, "now_s",
			now_s));
	return status == RGP_OK ? given : status;
}

rgp_status mod_give_version(const ModTalk *talk, const char *version)
{
	return mod_give(talk, "blob", json_pack("{s:s}", "version", version));
}
