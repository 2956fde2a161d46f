/* Objects of the state: objects.get, insert on the condition of a generation, delete, list. */
#include <string.h>
#include "gcp/call.h"
#include "gcp/gcs.h"

/* Base64 of the MD5, as the API writes it (Objects: md5Hash). */
static char *checksum_of(struct rgp_bytes bytes)
{
	guint8 digest[16];
	gsize len = sizeof digest;
	g_autoptr(GChecksum) md5 = g_checksum_new(G_CHECKSUM_MD5);
	g_checksum_update(md5, (const guchar *)bytes.data, (gssize)bytes.len);
	g_checksum_get_digest(md5, digest, &len);
	return g_base64_encode(digest, len);
}

/* "crc32c=n03x6A==,md5=Ojk9c3dhfxgoKVVHYwFbHQ==" */
static bool has_checksum(const json_t *headers, struct rgp_bytes content)
{
	g_auto(GStrv) sums = g_strsplit(mod_str(headers, "x-goog-hash"), ",", -1);
	g_autofree char *sum = checksum_of(content);
	for (size_t i = 0; sums[i]; i++) {
		const char *named = g_strchug(sums[i]);
		if (g_str_has_prefix(named, "md5="))
			return g_str_equal(named + strlen("md5="), sum);
	}
	return true;
}

static rgp_status give_content(const GcpCall *call, const ModRestAnswer *answer)
{
	const char *generation = mod_str(answer->headers, "x-goog-generation");
	const char *problem = !*generation ? "it has no generation"
			      : !has_checksum(answer->headers, answer->content)
				      ? "its content does not have its checksum"
				      : NULL;
	if (!problem)
		return mod_give_blob(
			&call->talk, answer->headers, generation, answer->skew_s, answer->content);
	mod_report_text(&call->talk, RGP_CLASS_TRANSIENT,
		"Cloud Storage's answer to objects.get is damaged", problem,
		"run the command again, and check that the endpoint is that of the JSON API");
	return RGP_FAIL;
}

rgp_status gcp_blob_get(const GcpCall *call, const json_t *input)
{
	g_auto(ModRestAnswer) answer = {0};
	g_autofree char *key = mod_bucket_key(gcp_store_at(call), mod_str(input, "name"));
	g_autofree char *path = gcs_url_object(call, key);
	g_autofree char *url = g_strconcat(path, "?alt=media", NULL);
	ModRestRequest request = gcp_get(call, "objects.get", url);
	request.hide_body = request.raw = true;
	rgp_status status = gcs_send(call, &request, &answer);
	if (status != RGP_OK || answer.status == 404)
		return status;
	if (answer.failure.class_ != RGP_CLASS_OK)
		return gcs_report(call, &request, &answer);
	return give_content(call, &answer);
}

/* ---- writing */

/* A part with the object's metadata, and one with its content. The checksum is compared before the
 * object exists; no cache on the way may keep it. */
static GString *multipart(const char *key, const char *boundary, struct rgp_bytes content)
{
	g_autofree char *sum = checksum_of(content);
	json_auto_t *metadata = json_pack("{s:s, s:s, s:s, s:s}", "name", key, "contentType",
		"application/octet-stream", "cacheControl", "no-store", "md5Hash", sum);
	char *text = json_dumps(metadata, JSON_COMPACT);
	GString *body = g_string_sized_new(content.len + 512);
	g_string_printf(body,
		"--%s\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n%s\r\n"
		"--%s\r\nContent-Type: application/octet-stream\r\n\r\n",
		boundary, text, boundary);
	g_string_append_len(body, content.data ? content.data : "", (gssize)content.len);
	g_string_append_printf(body, "\r\n--%s--\r\n", boundary);
	free(text);
	return body;
}

static rgp_status insert(const GcpCall *call, const char *url, const char *key,
	struct rgp_bytes content, ModRestAnswer *answer)
{
	g_autofree char *boundary = g_uuid_string_random();
	g_autoptr(GString) body = multipart(key, boundary, content);
	g_autofree char *type = g_strconcat("multipart/related; boundary=", boundary, NULL);
	ModRestRequest request = gcp_change(call, "objects.insert", "POST", url, NULL);
	request.content = (struct rgp_bytes){body->str, body->len};
	request.content_type = type;
	request.hide_body = true;
	rgp_status status = gcs_send(call, &request, answer);
	bool told = answer->failure.class_ == RGP_CLASS_OK || answer->status == 412;
	return status != RGP_OK || told ? status : gcs_report(call, &request, answer);
}

rgp_status gcp_blob_put(const GcpCall *call, const struct rgp_args *args)
{
	g_auto(ModRestAnswer) answer = {0};
	json_auto_t *input = mod_input(&call->talk, args);
	if (!input)
		return RGP_FAIL;
	const char *version = mod_str(input, "version");
	g_autofree char *key = mod_bucket_key(gcp_store_at(call), mod_str(input, "name"));
	g_autofree char *url = gcs_url_insert(call, *version ? version : "0");
	rgp_status status = insert(call, url, key, args->content, &answer);
	if (status != RGP_OK || answer.status == 412)
		return status;
	return mod_give_version(&call->talk, mod_str(answer.body, "generation"));
}

rgp_status gcp_blob_delete(const GcpCall *call, const json_t *input)
{
	g_auto(ModRestAnswer) answer = {0};
	g_autofree char *key = mod_bucket_key(gcp_store_at(call), mod_str(input, "name"));
	g_autofree char *url = gcs_url_object(call, key);
	const ModRestRequest request = gcp_change(call, "objects.delete", "DELETE", url, NULL);
	rgp_status status = gcs_send(call, &request, &answer);
	bool done = answer.failure.class_ == RGP_CLASS_OK || answer.status == 404;
	return status != RGP_OK || done ? status : gcs_report(call, &request, &answer);
}

/* ---- listing */

static rgp_status give_page(void *data, const json_t *body)
{
	const GcpCall *call = data;
	json_t *names = json_array();
	mod_foreach (item, json_object_get(body, "items"))
		mod_bucket_add_name(gcp_store_at(call), mod_str(item, "name"), names);
	return mod_give(&call->talk, "page", json_pack("{s:o}", "names", names));
}

/* A wrong answer, or no permission to ask, is no reason to stop. */
static void advise(const GcpCall *call)
{
	g_auto(ModRestAnswer) answer = {0};
	g_autofree char *bucket = gcs_url_bucket(call);
	g_autofree char *url = g_strconcat(bucket, "?fields=versioning,softDeletePolicy", NULL);
	const ModRestRequest request = gcp_get(call, "buckets.get", url);
	GcpCall quiet = *call;
	quiet.talk.quiet = true;
	if (gcs_send(&quiet, &request, &answer) != RGP_OK ||
		answer.failure.class_ != RGP_CLASS_OK ||
		json_is_true(mod_at(answer.body, "/versioning/enabled")))
		return;
	const char *seconds = mod_str(
		json_object_get(answer.body, "softDeletePolicy"), "retentionDurationSeconds");
	guint64 days = g_ascii_strtoull(seconds, NULL, 10) / 86400;
	g_autofree char *summary =
		days ? g_strdup_printf("the bucket of the state keeps old versions of its objects "
				       "for only %" G_GUINT64_FORMAT " days (soft delete)",
			       days)
		     : g_strdup("the bucket of the state keeps no old versions of its objects");
	mod_bucket_note(&call->talk, summary,
		"enable versioning, so that a deleted or damaged state can be restored: gcloud "
		"storage buckets update --versioning gs://BUCKET");
}

rgp_status gcp_blob_list(const GcpCall *call, const json_t *input)
{
	g_autofree char *prefix = mod_bucket_key(gcp_store_at(call), mod_str(input, "prefix"));
	g_autofree char *escaped = gcp_escape(prefix);
	g_autofree char *bucket = gcs_url_bucket(call);
	g_autofree char *url = g_strconcat(
		bucket, "/o?fields=kind,items(name),nextPageToken&prefix=", escaped, NULL);
	const ModRestRequest request = gcp_get(call, "objects.list", url);
	GcpCall same = *call;
	rgp_status status = gcs_pages(call, &request, give_page, &same);
	if (status != RGP_OK)
		return status;
	if (json_is_true(json_object_get(input, "advise")))
		advise(call);
	return mod_give_complete(&call->talk);
}
