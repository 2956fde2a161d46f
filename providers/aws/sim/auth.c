#include "aws/sim/auth.h"
#include <string.h>
#include "aws/sim/ec2.h"
#include "aws/sim/sigv4.h"

/* As long as AWS's, so that clients with a length limit see no difference. */
#define SECRET_LENGTH 40
#define ALGORITHM "AWS4-HMAC-SHA256"
/* Signature Version 4's window. */
#define MAX_SKEW_S (15 * 60)
#define UNSIGNED_REGION "us-east-1"

/* ---- temporary credentials */

char *ec2_session_mark(const RgSim *sim, const char *purpose, const char *text)
{
	g_autofree char *key = g_strdup_printf("%s/%" G_GUINT64_FORMAT, purpose, sim->seed);
	return g_compute_hmac_for_string(
		G_CHECKSUM_SHA256, (const guchar *)key, strlen(key), text, -1);
}

static char *secret_of(const RgSim *sim, const char *token)
{
	g_autofree char *digest = ec2_session_mark(sim, "secret", token);
	digest[SECRET_LENGTH] = '\0';
	return g_steal_pointer(&digest);
}

void ec2_session_mint(RgSim *sim, const char *arn, gint64 lifetime_s, Ec2Session *session)
{
	g_autofree char *id = rg_sim_id(sim, "");
	g_autofree char *upper = g_ascii_strup(id, 16);
	*session = (Ec2Session){.access_key = g_strconcat("ASIA", upper, NULL),
		.arn = g_strdup(arn),
		.expires_s = sim->now_ms / 1000 + lifetime_s};
	json_auto_t *claims = json_pack("{s:s, s:s, s:I}", "key", session->access_key, "arn", arn,
		"expires", (json_int_t)session->expires_s);
	g_autofree char *text = json_dumps(claims, JSON_COMPACT | JSON_SORT_KEYS);
	g_autofree char *body = g_base64_encode((const guchar *)text, strlen(text));
	g_autofree char *digest = ec2_session_mark(sim, "token", body);
	session->token = g_strconcat(body, ".", digest, NULL);
	session->secret = secret_of(sim, session->token);
	sim->changes++; /* the counter behind ids moved */
}

/* Reads a token that this world created for this access key; false if it did not. */
static bool session_read(
	const RgSim *sim, const char *access_key, const char *token, Ec2Session *session)
{
	*session = (Ec2Session){0};
	const char *dot = strchr(token, '.');
	if (!dot)
		return false;
	g_autofree char *body = g_strndup(token, (gsize)(dot - token));
	g_autofree char *digest = ec2_session_mark(sim, "token", body);
	if (!g_str_equal(digest, dot + 1))
		return false;
	gsize length;
	g_autofree guchar *text = g_base64_decode(body, &length);
	json_auto_t *claims = json_loadb((const char *)text, length, 0, NULL);
	if (!g_str_equal(doc_str(claims, "key"), access_key))
		return false;
	*session = (Ec2Session){.access_key = g_strdup(access_key),
		.secret = secret_of(sim, token),
		.token = g_strdup(token),
		.arn = g_strdup(doc_str(claims, "arn")),
		.expires_s = doc_int(claims, "expires")};
	return true;
}

void ec2_session_clear(Ec2Session *session)
{
	g_free(session->access_key);
	g_free(session->secret);
	g_free(session->token);
	g_free(session->arn);
	*session = (Ec2Session){0};
}

/* ---- the Authorization header */

typedef enum {
	NO_TOKEN,
	INCOMPLETE,
	UNKNOWN_KEY,
	MISMATCH,
	WRONG_SCOPE,
	WRONG_CLOCK,
	OLD_TOKEN,
} Refusal;

/* EC2 and the other query services: their "Common errors" pages; the JSON protocol's common errors.
 */
enum { EC2_CODES, QUERY_CODES, JSON_CODES, CODES };
static const struct {
	int status;
	const char *code;
} refusals[CODES][7] = {
	[EC2_CODES] = {[NO_TOKEN] = {403, "MissingAuthenticationToken"},
		[INCOMPLETE] = {400, "IncompleteSignature"},
		[UNKNOWN_KEY] = {401, "AuthFailure"},
		[MISMATCH] = {403, "SignatureDoesNotMatch"},
		[WRONG_SCOPE] = {401, "AuthFailure"},
		[WRONG_CLOCK] = {400, "RequestExpired"},
		[OLD_TOKEN] = {400, "RequestExpired"}},
	[QUERY_CODES] = {[NO_TOKEN] = {403, "MissingAuthenticationToken"},
		[INCOMPLETE] = {400, "IncompleteSignature"},
		[UNKNOWN_KEY] = {403, "InvalidClientTokenId"},
		[MISMATCH] = {403, "SignatureDoesNotMatch"},
		[WRONG_SCOPE] = {403, "SignatureDoesNotMatch"},
		[WRONG_CLOCK] = {403, "SignatureDoesNotMatch"},
		[OLD_TOKEN] = {403, "ExpiredToken"}},
	[JSON_CODES] = {[NO_TOKEN] = {400, "MissingAuthenticationTokenException"},
		[INCOMPLETE] = {400, "IncompleteSignatureException"},
		[UNKNOWN_KEY] = {400, "UnrecognizedClientException"},
		[MISMATCH] = {400, "InvalidSignatureException"},
		[WRONG_SCOPE] = {400, "InvalidSignatureException"},
		[WRONG_CLOCK] = {400, "InvalidSignatureException"},
		[OLD_TOKEN] = {400, "ExpiredTokenException"}},
};

/* The header's parts and the key behind it. */
typedef struct {
	char *credential;
	char *signed_headers;
	char *signature;
	char **scope; /* key, date, region, service, "aws4_request" */
	const char *date;
	const char *secret; /* borrowed; NULL: unknown, or not checked */
	Ec2Session session;
} Proof;

static void proof_clear(Proof *proof)
{
	g_free(proof->credential);
	g_free(proof->signed_headers);
	g_free(proof->signature);
	g_strfreev(proof->scope);
	ec2_session_clear(&proof->session);
}

G_GNUC_PRINTF(3, 4)
static bool auth_refuse(RgSimCall *call, Refusal refusal, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *message = g_strdup_vprintf(format, args);
	va_end(args);
	int codes = ec2_is_json(call->service) ? JSON_CODES
		    : call->service == EC2_API ? EC2_CODES
					       : QUERY_CODES;
	return rg_sim_fail(call, refusals[codes][refusal].status, refusals[codes][refusal].code,
		"%s", message);
}

/* The value of "Name=value" in the header's comma-separated list, or NULL. */
static char *header_part(const char *header, const char *name)
{
	g_auto(GStrv) parts = g_strsplit_set(header + strlen(ALGORITHM), ", ", -1);
	for (int i = 0; parts[i]; i++) {
		if (g_str_has_prefix(parts[i], name) && parts[i][strlen(name)] == '=')
			return g_strdup(parts[i] + strlen(name) + 1);
	}
	return NULL;
}

static bool read_proof(RgSimCall *call, Proof *proof)
{
	const char *header = g_hash_table_lookup(call->request->headers, "authorization");
	if (!header)
		return auth_refuse(call, NO_TOKEN, "Request is missing Authentication Token");
	if (!g_str_has_prefix(header, ALGORITHM " "))
		return auth_refuse(
			call, INCOMPLETE, "Authorization header requires the algorithm " ALGORITHM);
	proof->credential = header_part(header, "Credential");
	proof->signed_headers = header_part(header, "SignedHeaders");
	proof->signature = header_part(header, "Signature");
	proof->scope = g_strsplit(proof->credential ? proof->credential : "", "/", -1);
	proof->date = g_hash_table_lookup(call->request->headers, "x-amz-date");
	if (!proof->signed_headers || !proof->signature || g_strv_length(proof->scope) != 5)
		return auth_refuse(call, INCOMPLETE,
			"Authorization header requires 'Credential', 'Signature' and "
			"'SignedHeaders' parameters.");
	if (!proof->date)
		return auth_refuse(call, INCOMPLETE,
			"Authorization header requires existence of either a 'X-Amz-Date' or a "
			"'Date' header.");
	return true;
}

static bool check_scope(RgSimCall *call, const Proof *proof)
{
	static const char *const services[AWS_APIS] = {"ec2", "sts", "iam", "ssm", "servicequotas"};
	const char *service = services[call->service];
	g_assert(proof->scope != NULL); /* five parts, checked by read_proof */
	if (!g_str_equal(proof->scope[4], "aws4_request") || !g_str_equal(proof->scope[3], service))
		return auth_refuse(call, WRONG_SCOPE,
			"Credential should be scoped to correct service: '%s'.", service);
	if (!ec2_has_region(call->realm->data, proof->scope[2]))
		return auth_refuse(
			call, WRONG_SCOPE, "Credential should be scoped to a valid region.");
	if (strncmp(proof->date, proof->scope[1], 8) != 0 || strlen(proof->scope[1]) != 8)
		return auth_refuse(call, WRONG_SCOPE,
			"Date in Credential scope does not match YYYYMMDD from ISO-8601 version of "
			"date from HTTP: '%s' != '%.8s', from '%s'.",
			proof->scope[1], proof->date, proof->date);
	return true;
}

static bool check_clock(RgSimCall *call, const Proof *proof)
{
	g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
	g_autoptr(GDateTime) when = g_date_time_new_from_iso8601(proof->date, utc);
	if (!when)
		return auth_refuse(call, INCOMPLETE,
			"Date must be in ISO-8601 'basic format'. Got '%s'.", proof->date);
	gint64 now_s = rg_sim_client_s(call->sim) + doc_int(call->sim->knobs, "clock_offset_s");
	gint64 skew_s = g_date_time_to_unix(when) - now_s;
	if (ABS(skew_s) <= MAX_SKEW_S)
		return true;
	g_autoptr(GDateTime) now = g_date_time_new_from_unix_utc(now_s);
	g_autofree char *now_text = g_date_time_format(now, "%Y%m%dT%H%M%SZ");
	if (call->service == EC2_API)
		return auth_refuse(call, WRONG_CLOCK,
			"Request has expired. Timestamp date is %s. Current date is %s.",
			proof->date, now_text);
	return auth_refuse(call, WRONG_CLOCK,
		skew_s < 0 ? "Signature expired: %s is now earlier than %s - 15 min."
			   : "Signature not yet current: %s is still later than %s + 15 min.",
		proof->date, now_text);
}

static bool refuse_key(RgSimCall *call)
{
	return auth_refuse(call, UNKNOWN_KEY,
		call->service == EC2_API
			? "AWS was not able to validate the provided access credentials"
			: "The security token included in the request is invalid.");
}

/* Temporary keys have a session token, permanent ones do not. */
static bool find_key(RgSimCall *call, Proof *proof)
{
	const char *key = proof->scope[0];
	const char *token = g_hash_table_lookup(call->request->headers, "x-amz-security-token");
	if (!*key ||
		rg_sim_knobs_lists(json_object_get(call->sim->knobs, "reject_access_keys"), key))
		return refuse_key(call);
	if (token && session_read(call->sim, key, token, &proof->session)) {
		if (proof->session.expires_s <= call->sim->now_ms / 1000)
			return auth_refuse(call, OLD_TOKEN,
				call->service == EC2_API
					? "Request has expired."
					: "The security token included in the request is expired");
		proof->secret = proof->session.secret;
		call->caller = g_strdup(proof->session.arn);
		return true;
	}
	proof->secret = json_string_value(
		json_object_get(json_object_get(call->sim->knobs, "access_keys"), key));
	if (doc_int(call->sim->knobs, "verify") && (token || !proof->secret))
		return refuse_key(call);
	call->caller = g_strdup("arn:aws:iam::" EC2_ACCOUNT ":user/raygpu-sim");
	return true;
}

/* Every x-amz-* header that was sent must be signed, and the host. */
static const char *unsigned_header(const RgSimRequest *request, const char *signed_headers)
{
	g_auto(GStrv) names = g_strsplit(signed_headers, ";", -1);
	GHashTableIter iter;
	void *name;
	if (!g_strv_contains((const char *const *)names, "host"))
		return "host";
	g_hash_table_iter_init(&iter, request->headers);
	while (g_hash_table_iter_next(&iter, &name, NULL)) {
		if (g_str_has_prefix(name, "x-amz-") &&
			!g_strv_contains((const char *const *)names, name))
			return name;
	}
	return NULL;
}

static bool check_signature(RgSimCall *call, const Proof *proof)
{
	const char *missing = unsigned_header(call->request, proof->signed_headers);
	if (missing)
		return auth_refuse(call, MISMATCH,
			"'%s' must be a 'SignedHeader' in the AWS Authorization.", missing);
	g_autofree char *canonical = ec2_sigv4_canonical(call->request, proof->signed_headers);
	g_autofree char *scope = g_strjoinv("/", proof->scope + 1);
	g_autofree char *text =
		canonical ? ec2_sigv4_string_to_sign(proof->date, scope, canonical) : NULL;
	g_autofree char *wanted = text ? ec2_sigv4_signature(proof->secret, scope, text) : NULL;
	if (wanted && g_str_equal(wanted, proof->signature))
		return true;
	return auth_refuse(call, MISMATCH,
		"The request signature we calculated does not match the signature you provided. "
		"Check your AWS Secret Access Key and signing method. Consult the service "
		"documentation for details.");
}

bool ec2_auth_check(RgSimCall *call, bool unsigned_allowed)
{
	bool is_signed = call->service != SSO_API &&
			 g_hash_table_lookup(call->request->headers, "authorization");
	if (unsigned_allowed && !is_signed) {
		call->place_name = g_strdup(UNSIGNED_REGION);
		return true;
	}
	Proof proof = {0};
	bool good = read_proof(call, &proof) && check_scope(call, &proof) &&
		    check_clock(call, &proof) && find_key(call, &proof) &&
		    (!doc_int(call->sim->knobs, "verify") || check_signature(call, &proof));
	if (good)
		call->place_name = g_strdup(proof.scope[2]);
	proof_clear(&proof);
	return good;
}
