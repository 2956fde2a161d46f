#include "aws/sim/session.h"
#include <string.h>

/* As long as AWS's, so that clients that cap the length see no difference. */
#define SECRET_LENGTH 40

static char *mark(const RgSimWorld *world, const char *purpose, const char *text)
{
	g_autofree char *key = g_strdup_printf("%s/%" G_GUINT64_FORMAT, purpose, world->seed);
	return g_compute_hmac_for_string(
		G_CHECKSUM_SHA256, (const guchar *)key, strlen(key), text, -1);
}

static char *secret_of(const RgSimWorld *world, const char *token)
{
	g_autofree char *digest = mark(world, "secret", token);
	digest[SECRET_LENGTH] = '\0';
	return g_steal_pointer(&digest);
}

void rg_sim_session_mint(
	RgSimWorld *world, const char *arn, gint64 lifetime_s, RgSimSession *session)
{
	g_autofree char *id = rg_sim_world_id(world, "");
	g_autofree char *upper = g_ascii_strup(id, 16);
	*session = (RgSimSession){.access_key = g_strconcat("ASIA", upper, NULL),
		.arn = g_strdup(arn),
		.expires_s = world->now_ms / 1000 + lifetime_s};
	json_auto_t *claims = json_pack("{s:s, s:s, s:I}", "key", session->access_key, "arn", arn,
		"expires", (json_int_t)session->expires_s);
	g_autofree char *text = json_dumps(claims, JSON_COMPACT | JSON_SORT_KEYS);
	g_autofree char *body = g_base64_encode((const guchar *)text, strlen(text));
	g_autofree char *digest = mark(world, "token", body);
	session->token = g_strconcat(body, ".", digest, NULL);
	session->secret = secret_of(world, session->token);
	world->changes++; /* the counter behind ids moved */
}

bool rg_sim_session_read(
	const RgSimWorld *world, const char *access_key, const char *token, RgSimSession *session)
{
	*session = (RgSimSession){0};
	const char *dot = strchr(token, '.');
	if (!dot)
		return false;
	g_autofree char *body = g_strndup(token, (gsize)(dot - token));
	g_autofree char *digest = mark(world, "token", body);
	if (!g_str_equal(digest, dot + 1))
		return false;
	gsize length;
	g_autofree guchar *text = g_base64_decode(body, &length);
	json_auto_t *claims = json_loadb((const char *)text, length, 0, NULL);
	if (!g_str_equal(rg_sim_doc_str(claims, "key"), access_key))
		return false;
	*session = (RgSimSession){.access_key = g_strdup(access_key),
		.secret = secret_of(world, token),
		.token = g_strdup(token),
		.arn = g_strdup(rg_sim_doc_str(claims, "arn")),
		.expires_s = json_integer_value(json_object_get(claims, "expires"))};
	return true;
}

void rg_sim_session_clear(RgSimSession *session)
{
	g_free(session->access_key);
	g_free(session->secret);
	g_free(session->token);
	g_free(session->arn);
	*session = (RgSimSession){0};
}
