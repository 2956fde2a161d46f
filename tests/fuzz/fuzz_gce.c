/* A request to the simulated Compute Engine: the first line is the method and the path with its
 * query, the rest is the body. The answer is JSON, or empty where there is nothing to say; a
 * request never breaks the server's own promises (500), and an error has the form of Google's. */
#include <jansson.h>
#include <string.h>
#include "fuzz.h"
#include "gcp/sim/cloud.h"
#include "sim/core/call.h"

static const RgSimCloud *const clouds[] = {&gcp_sim_cloud, NULL};

static void check_answer(const RgSimReply *reply)
{
	json_auto_t *answer = json_loadb(reply->body->str, reply->body->len, JSON_DECODE_ANY, NULL);
	bool whole = json_is_object(answer);
	g_assert_true(reply->status != 500);
	if (reply->status >= 400)
		g_assert_true(whole && json_object_get(answer, "error"));
	else
		g_assert_true(whole || reply->status == 204 || reply->body->len < 200);
}

static void serve(
	RgSim *sim, const char *method, const char *path, const char *query, GString *body)
{
	static const char *const given[] = {"authorization", "Bearer ya29.raygpu-sim",
		"content-type", "application/x-www-form-urlencoded", "metadata-flavor", "Google",
		"host", "127.0.0.1"};
	g_autoptr(GHashTable) headers =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	for (gsize i = 0; i < G_N_ELEMENTS(given); i += 2)
		g_hash_table_insert(headers, g_strdup(given[i]), g_strdup(given[i + 1]));
	RgSimRequest request = {method, path, query, headers, body->str, body->len};
	RgSimReply reply;
	if (!gcp_sim_cloud.claims(&request))
		return;
	rg_sim_serve(sim, &request, &reply);
	check_answer(&reply);
	rg_sim_reply_clear(&reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static RgSim *sim; /* created once; its world is emptied before each input */
	g_autofree char *problem = NULL;
	if (!sim) {
		sim = rg_sim_new(clouds, 1, NULL, NULL, &problem);
		sim->stopping = 1; /* a call that waits for an operation returns */
	}
	const uint8_t *end = memchr(data, '\n', size);
	size_t length = end ? (size_t)(end - data) : size;
	g_autofree char *line = g_strndup((const char *)data, length);
	g_auto(GStrv) words = g_strsplit(line, " ", 2);
	g_autoptr(GString) body = g_string_new(NULL);
	if (end)
		g_string_append_len(body, (const char *)end + 1, (gssize)(size - length - 1));
	if (g_strv_length(words) < 2)
		return 0;
	char *mark = strchr(words[1], '?');
	if (mark)
		*mark = '\0';
	rg_sim_enter(sim);
	rg_sim_reset(sim);
	rg_sim_leave(sim);
	serve(sim, words[0], words[1], mark ? mark + 1 : "", body);
	serve(sim, words[0], words[1], mark ? mark + 1 : "", body);
	return 0;
}
