/* reveal: Ray's token in its Secret, for `raygpu state rebuild` and `raygpu import`. Nothing else
 * reads the data of a Secret. */
#include "kubernetes/calls.h"

/* data of a Secret is base64. */
static char *token_of(const json_t *secret)
{
	const char *encoded = mod_str(json_object_get(secret, "data"), "auth_token");
	gsize length = 0;
	g_autofree guchar *bytes = g_base64_decode(encoded, &length);
	return g_strndup((const char *)bytes, length);
}

static rgp_status reveal_one(const KubeCall *call, const char *kind, const json_t *item)
{
	KubeApi api;
	g_auto(ModRestAnswer) answer = {0};
	if (!g_str_equal(kind, KUBE_SECRET))
		return kube_give(call, item, mod_str(item, "id"), json_object(), &answer.failure);
	if (kube_api_of(call, kind, &api) != RGP_OK)
		return RGP_FAIL;
	g_auto(KubeId) id = kube_id_parse(&api, mod_str(item, "id"));
	g_autofree char *url = kube_url(call, &api, id.space, id.name, NULL);
	rgp_status status = kube_read_secret(call, "Secret.get", url, &answer);
	if (status != RGP_OK || answer.failure.class_ != RGP_CLASS_OK)
		return status == RGP_OK ? kube_give(call, item, NULL, NULL, &answer.failure)
					: status;
	g_autofree char *token = token_of(answer.body);
	if (*token)
		call->talk.host->secret(call->talk.call, mod_bytes(token));
	return kube_give(call, item, mod_str(item, "id"), json_pack("{s:s}", "token", token),
		&answer.failure);
}

rgp_status kube_reveal(const KubeCall *call, const json_t *input)
{
	rgp_status status = RGP_OK;
	mod_foreach (item, json_object_get(input, "items"))
		if (status == RGP_OK)
			status = reveal_one(call, mod_str(input, "kind"), item);
	return status;
}
