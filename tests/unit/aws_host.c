#include "aws_host.h"
#include <curl/curl.h>
#include <string.h>

static size_t on_body(char *data, size_t size, size_t count, void *user)
{
	g_byte_array_append(user, (const guint8 *)data, (guint)(size * count));
	return size * count;
}

static void set_auth(CURL *curl, const json_t *auth)
{
	const char *token = json_string_value(json_object_get(auth, "token"));
	if (token) {
		curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
		curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, token);
		return;
	}
	g_autofree char *scheme =
		g_strdup_printf("aws:amz:%s:%s", json_string_value(json_object_get(auth, "region")),
			json_string_value(json_object_get(auth, "service")));
	curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, scheme);
	curl_easy_setopt(
		curl, CURLOPT_USERNAME, json_string_value(json_object_get(auth, "access_key")));
	curl_easy_setopt(
		curl, CURLOPT_PASSWORD, json_string_value(json_object_get(auth, "secret_key")));
}

static long send_once(struct rgp_call *call, const struct rgp_http_req *req)
{
	long status = 0;
	CURL *curl = curl_easy_init();
	struct curl_slist *headers = NULL;
	g_byte_array_set_size(call->body, 0);
	for (const char *const *header = req->headers; header && *header; header++)
		headers = curl_slist_append(headers, *header);
	json_t *auth = req->auth.len ? json_loadb(req->auth.data, req->auth.len, 0, NULL) : NULL;
	g_assert_true(auth || !req->auth.len);
	if (auth)
		set_auth(curl, auth);
	curl_easy_setopt(curl, CURLOPT_URL, req->url);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	if (strcmp(req->method, "GET")) {
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)req->body.len);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, req->body.len ? req->body.data : "");
		curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, req->method);
	}
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, call->body);
	if (curl_easy_perform(curl) == CURLE_OK)
		curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	curl_slist_free_all(headers);
	curl_easy_cleanup(curl);
	json_decref(auth);
	return status;
}

static rgp_status host_http(
	struct rgp_call *call, const struct rgp_http_req *req, struct rgp_http_resp *resp)
{
	unsigned most = call->max_tries ? call->max_tries : 3;
	for (unsigned tries = 1;; tries++) {
		long status = send_once(call, req);
		struct rgp_bytes body = {(const char *)call->body->data, call->body->len};
		int32_t class_ = RGP_CLASS_TRANSIENT;
		if (status)
			class_ = req->classify
					 ? req->classify(req->classify_data, (int32_t)status, body)
					 : RGP_CLASS_OK;
		bool again = class_ == RGP_CLASS_TRANSIENT || class_ == RGP_CLASS_THROTTLED;
		if (again && tries < most)
			continue;
		if (!status)
			return RGP_FAIL;
		*resp = (struct rgp_http_resp){
			.size = sizeof *resp,
			.status = (int32_t)status,
			.body = body,
			.headers = {"{}", 2},
			.skew_s = call->skew_s,
			.tries = tries,
		};
		return RGP_OK;
	}
}

/* In order, so that the answers of a test are too. Each keeps a copy of its body. */
static rgp_status host_http_all(struct rgp_call *call, const struct rgp_http_req *const *reqs,
	size_t n, struct rgp_http_resp *const *resps)
{
	rgp_status all = RGP_OK;
	for (size_t i = 0; i < n; i++) {
		rgp_status status = host_http(call, reqs[i], resps[i]);
		if (status == RGP_OK) {
			GBytes *body = g_bytes_new(resps[i]->body.data, resps[i]->body.len);
			g_ptr_array_add(call->bodies, body);
			resps[i]->body = (struct rgp_bytes){
				g_bytes_get_data(body, NULL), resps[i]->body.len};
		}
		all = all == RGP_OK ? status : all;
	}
	return all;
}

static void host_diag(struct rgp_call *call, const struct rgp_diag *diag)
{
	json_array_append_new(
		call->diags, json_pack("{s:i, s:s, s:s?, s:s?, s:s?, s:s?}", "class", diag->class_,
				     "summary", diag->summary, "detail", diag->detail, "hint",
				     diag->hint, "code", diag->code, "origin", diag->origin));
}

static rgp_status host_result(struct rgp_call *call, const char *slot, struct rgp_bytes text)
{
	json_error_t error;
	json_t *value = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES, &error);
	g_assert_nonnull(value);
	json_array_append_new(call->given, json_pack("{s:s, s:o}", "slot", slot, "value", value));
	return RGP_OK;
}

static void host_log(struct rgp_call *call, int32_t level, const char *message)
{
	g_ptr_array_add(call->logs, g_strdup(message));
}

static int32_t host_canceled(struct rgp_call *call)
{
	return call->cancel_after_sleeps && call->sleeps >= call->cancel_after_sleeps;
}

static rgp_status host_sleep(struct rgp_call *call, uint32_t ms)
{
	call->sleeps++;
	call->slept_ms += ms;
	if (call->sleeps_really)
		g_usleep(ms * 1000ul);
	return host_canceled(call) ? RGP_CANCELED : RGP_OK;
}

static const char *host_env(struct rgp_call *call, const char *name)
{
	return g_hash_table_lookup(call->env, name);
}

static rgp_status host_read_file(struct rgp_call *call, const char *path, struct rgp_bytes *content)
{
	const char *text = g_hash_table_lookup(call->files, path);
	if (!text)
		return RGP_FAIL;
	*content = (struct rgp_bytes){text, strlen(text)};
	return RGP_OK;
}

static rgp_status host_exec(
	struct rgp_call *call, const struct rgp_exec_req *req, struct rgp_bytes *output)
{
	g_auto(GStrv) env = g_get_environ();
	g_autofree char *text = NULL;
	int ended = -1;
	for (size_t i = 0; req->env && req->env[i]; i++) {
		g_auto(GStrv) pair = g_strsplit(req->env[i], "=", 2);
		env = g_environ_setenv(env, pair[0], pair[1], TRUE);
	}
	char **argv = (char **)(uintptr_t)req->argv;
	bool ran = g_spawn_sync(
		NULL, argv, env, G_SPAWN_SEARCH_PATH, NULL, NULL, &text, NULL, &ended, NULL);
	if (!ran || ended)
		return RGP_FAIL;
	*output = (struct rgp_bytes){text, strlen(text)};
	g_ptr_array_add(call->outputs, g_steal_pointer(&text));
	return RGP_OK;
}

static void host_secret(struct rgp_call *call, struct rgp_bytes secret)
{
	g_ptr_array_add(call->secrets, g_strndup(secret.data, secret.len));
}

static int64_t host_now(struct rgp_call *call)
{
	return call->now_s + (int64_t)(call->slept_ms / 1000);
}

const struct rgp_host aws_test_host = {
	.size = sizeof aws_test_host,
	.abi_major = RGP_ABI_MAJOR,
	.abi_minor = RGP_ABI_MINOR,
	.http = host_http,
	.diag = host_diag,
	.result = host_result,
	.log = host_log,
	.canceled = host_canceled,
	.sleep_ms = host_sleep,
	.env = host_env,
	.read_file = host_read_file,
	.exec = host_exec,
	.secret = host_secret,
	.now = host_now,
	.http_all = host_http_all,
};

struct rgp_call *aws_test_call_new(void)
{
	struct rgp_call *call = g_new0(struct rgp_call, 1);
	call->env = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	call->files = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	call->secrets = g_ptr_array_new_with_free_func(g_free);
	call->logs = g_ptr_array_new_with_free_func(g_free);
	call->outputs = g_ptr_array_new_with_free_func(g_free);
	call->body = g_byte_array_new();
	call->bodies = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
	call->now_s = 1770000000;
	aws_test_call_reset(call);
	return call;
}

void aws_test_call_reset(struct rgp_call *call)
{
	json_decref(call->given);
	json_decref(call->diags);
	call->given = json_array();
	call->diags = json_array();
	g_ptr_array_set_size(call->logs, 0);
	call->slept_ms = 0;
	call->sleeps = 0;
}

void aws_test_call_free(struct rgp_call *call)
{
	json_decref(call->given);
	json_decref(call->diags);
	g_hash_table_unref(call->env);
	g_hash_table_unref(call->files);
	g_ptr_array_unref(call->secrets);
	g_ptr_array_unref(call->logs);
	g_ptr_array_unref(call->outputs);
	g_byte_array_unref(call->body);
	g_ptr_array_unref(call->bodies);
	g_free(call);
}

rgp_status aws_test_run(rgp_fn fn, struct rgp_inst *inst, struct rgp_call *call, const char *json)
{
	g_autofree char *text = g_strdelimit(g_strdup(json), "'", '"');
	const struct rgp_args args = {.size = sizeof args, .input = {text, strlen(text)}};
	aws_test_call_reset(call);
	return fn(inst, &aws_test_host, call, &args);
}

const json_t *aws_test_given(const struct rgp_call *call, const char *slot, size_t n)
{
	size_t i;
	const json_t *entry;
	json_array_foreach (call->given, i, entry)
		if (g_str_equal(json_string_value(json_object_get(entry, "slot")), slot) && !n--)
			return json_object_get(entry, "value");
	return NULL;
}

json_t *aws_test_resource(const struct rgp_call *call, size_t n, size_t i)
{
	const json_t *page = aws_test_given(call, "page", n);
	const json_t *own = json_array_get(json_object_get(page, "resources"), i);
	const json_t *place = json_object_get(own, "shared");
	if (!own || !place)
		return json_deep_copy(own);
	json_t *all = json_deep_copy(
		json_array_get(json_object_get(page, "shared"), (size_t)json_integer_value(place)));
	json_auto_t *more = json_deep_copy(own);
	json_object_update_recursive(all, more);
	return all;
}

const json_t *aws_test_item(const struct rgp_call *call, const char *address)
{
	const json_t *item;
	for (size_t n = 0; (item = aws_test_given(call, "item", n)); n++)
		if (g_str_equal(json_string_value(json_object_get(item, "address")), address))
			return item;
	return NULL;
}

const char *aws_test_said(const struct rgp_call *call, size_t n, const char *member)
{
	const char *text =
		json_string_value(json_object_get(json_array_get(call->diags, n), member));
	return text ? text : "";
}
