/* `raygpu state hardware` and `state forget-hardware`: the GPUs that failed. */
#include "command.h"
#include "base/clock.h"
#include "state/write.h"

static void add_gpu(GString *text, const json_t *row)
{
	const char *serial = rg_json_str(row, "serial", NULL);
	const char *type = rg_json_str(row, "instance_type", NULL);
	const char *zone = rg_json_str(row, "zone", NULL);
	g_autofree char *when = rg_clock_format(rg_json_int(row, "failed_s", 0));
	g_string_append_printf(text, "%s  %s  %s (%s", rg_json_str(row, "gpu", ""), when,
		rg_json_str(row, "address", ""), rg_json_str(row, "id", ""));
	if (type)
		g_string_append_printf(text, ", %s", type);
	if (zone)
		g_string_append_printf(text, " in %s", zone);
	g_string_append(text, ")\n");
	if (serial)
		g_string_append_printf(text, "    serial number %s\n", serial);
	g_string_append_printf(text, "    %s%s\n", rg_json_str(row, "reason", ""),
		json_is_null(json_object_get(row, "code")) ? " (seen again)" : "");
}

int state_hardware(Context *context, const RgSnapshot *snapshot)
{
	g_autoptr(GString) text = g_string_new(NULL);
	if (context->json) {
		out_json(snapshot->hardware);
		return EXIT_FINE;
	}
	rg_json_foreach (row, snapshot->hardware)
		add_gpu(text, row);
	if (!text->len)
		g_string_append_printf(text, "No GPU of cluster %s failed in the last %d days.\n",
			snapshot->cluster, RG_HARDWARE_DAYS);
	out_text(text->str);
	return EXIT_FINE;
}

static bool is_known(Context *context, const RgSnapshot *snapshot, const char *gpu)
{
	rg_json_foreach (row, snapshot->hardware) {
		if (g_strcmp0(rg_json_str(row, "gpu", NULL), gpu) == 0 ||
			g_strcmp0(rg_json_str(row, "serial", NULL), gpu) == 0)
			return true;
	}
	RgDiag *diag = rg_diags_error(context->diags, "state.no-such-resource",
		"GPU %s of cluster %s is not known as bad", gpu, snapshot->cluster);
	rg_diag_hint(diag, "`raygpu state hardware` lists those that are");
	return false;
}

static bool forget_each(Context *context, const char *cluster, char **gpus, int n)
{
	bool ok = true;
	for (int i = 0; i < n && ok; i++)
		ok = rg_store_hardware_forget(context->store, cluster, gpus[i], context->diags);
	return ok;
}

int state_forget_hardware(Context *context, const RgSnapshot *snapshot, char **gpus, int n)
{
	json_auto_t *rows = json_array();
	g_autoptr(GString) text = g_string_new(NULL);
	for (int i = 0; i < n; i++) {
		if (!is_known(context, snapshot, gpus[i]))
			return EXIT_USAGE;
		json_array_append_new(rows, json_string(gpus[i]));
		g_string_append_printf(text, "Forgot %s.\n", gpus[i]);
	}
	const RgRunBegin begin = {.cluster = snapshot->cluster,
		.provider = snapshot->provider,
		.region = snapshot->region};
	g_autofree char *run = note_begin(context, "state forget-hardware", &begin);
	if (!run || !note_end(context, run, forget_each(context, snapshot->cluster, gpus, n)))
		return rg_diags_exit_code(context->diags);
	if (context->json)
		out_json(rows);
	else
		out_text(text->str);
	return EXIT_FINE;
}
