#include "sim/core/console.h"
#include <string.h>
#include "gcp/sim/gce.h"
#include "sim/core/user_data.h"

/* The serial port. What a machine prints is computed from the time since it started; what was
 * printed stays, so that a reader may go on where it stopped. A head lists its members again when
 * they have changed. */

/* cloud.google.com/compute/docs/troubleshooting/viewing-serial-port-output: the newest 1 MB. */
#define TEXT_MAX (1024 * 1024)

static bool installs_docker(const json_t *instance)
{
	gsize len = 0;
	g_autofree char *data = gce_user_data(instance, &len);
	json_auto_t *config = rg_sim_user_config(data, len);
	return rg_sim_user_file(config, "/usr/local/lib/raygpu/install-docker") != NULL;
}

void gce_console_give_fault(const RgSimPlace *place, json_t *instance, const char *type)
{
	json_t *rule = rg_sim_node_fault(place, GCE_INSTANCE, type);
	if (rule)
		json_object_set(instance, "_fault", rule);
	else if (!doc_int(place->sim->knobs, "image_docker") && !installs_docker(instance))
		json_object_set_new(instance, "_fault",
			json_pack("{s:s, s:s, s:s}", "how", "fail", "step", "docker", "reason",
				"no docker on this image"));
}

static const char *label_of(const json_t *instance, const char *key)
{
	return doc_str(json_object_get(instance, "labels"), key);
}

static RgSimNode node_of(const RgSimPlace *place, const json_t *instance)
{
	return (RgSimNode){.id = doc_str(instance, "_node"),
		.host = doc_str(instance, "id"),
		.gpus = doc_int(json_object_get(instance, "_machine"), "gpus"),
		.booted_ms = doc_int(instance, "_bootedMs"),
		.fault = json_object_get(instance, "_fault"),
		.runs = g_str_equal(doc_str(instance, "status"), "RUNNING"),
		.is_head = g_str_equal(label_of(instance, "raygpu-name"), "head"),
		.lineage = label_of(instance, "raygpu-lineage")};
}

/* The list of members begins with its time, which alone is not a change. */
static char *without_times(const char *text)
{
	g_autoptr(GRegex) regex = g_regex_new(" at=[0-9]+", 0, 0, NULL);
	return g_regex_replace_literal(regex, text, -1, 0, "", 0, NULL);
}

/* What is in `now` and not yet in what was printed: the rest, or the whole list of members. */
static const char *news(const char *printed, const char *now)
{
	if (g_str_has_prefix(now, printed))
		return now + strlen(printed);
	const char *members = strstr(now, "raygpu: v1 nodes ");
	return members ? members : now;
}

/* The text from the beginning of its first boot on, kept in the document. */
static char *console_text(RgSimPlace *place, const json_t *instance)
{
	g_autoptr(GString) now = g_string_new(NULL);
	rg_sim_console_print(place->sim, place, GCE_INSTANCE, node_of, instance, now);
	const char *last = doc_str(instance, "_consoleLast"), *all = doc_str(instance, "_console");
	g_autofree char *now_plain = without_times(now->str), *last_plain = without_times(last);
	if (g_str_equal(now_plain, last_plain) || !now->len)
		return g_strdup(all);
	bool same_boot = g_str_equal(last_plain, "") || strncmp(now->str, last, 200) == 0;
	char *text = g_strconcat(all, same_boot ? news(last, now->str) : now->str, NULL);
	json_t *doc = json_copy(rg_json_unconst(instance));
	json_object_set_new(doc, "_console", json_string(text));
	json_object_set_new(doc, "_consoleLast", json_string(now->str));
	rg_sim_put(place, GCE_INSTANCE, doc);
	return text;
}

static bool get_serial_port_output(RgSimCall *call)
{
	const json_t *instance = gce_target(call, GCE_INSTANCE);
	const char *port = call_str(call, "port"), *given = call_str(call, "start");
	gint64 start = 0;
	if (!instance)
		return false;
	if (port && !g_str_equal(port, "1"))
		return rg_sim_fail(
			call, 501, "notImplemented", "raygpu-sim simulates serial port 1 only");
	if (given && !g_ascii_string_to_signed(given, 10, G_MININT64, G_MAXINT64, &start, NULL))
		return gce_fail_invalid(call, "start", given, "Must be a whole number.");
	g_autofree char *self = g_strconcat(doc_str(instance, "selfLink"), "/serialPort", NULL);
	g_autofree char *text = console_text(call->place, instance);
	gint64 len = (gint64)strlen(text), oldest = MAX(len - TEXT_MAX, 0);
	if (start < 0) /* so many bytes before the end */
		start = MAX(len + start, 0);
	start = CLAMP(start, oldest, len);
	g_autofree char *from = g_strdup_printf("%" G_GINT64_FORMAT, start);
	g_autofree char *next = g_strdup_printf("%" G_GINT64_FORMAT, len);
	return gce_answer(call,
		json_pack("{s:s, s:s, s:s, s:s, s:s}", "kind", "compute#serialPortOutput",
			"contents", text + start, "start", from, "next", next, "selfLink", self));
}

const RgSimAction gce_console_actions[] = {
	{"instances.getSerialPortOutput", get_serial_port_output, false, "port start"},
	{NULL},
};
