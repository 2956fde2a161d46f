#include "sim/core/lease.h"
#include <string.h>
#include "base/json.h"
#include "sim/core/user_data.h"

#define SERVICE "raygpu-lease.service"
#define UNIT "/etc/systemd/system/" SERVICE
#define FRAGMENT "/usr/local/lib/raygpu/cloud"
#define LOOK_MS 60000 /* it looks about once a minute */

static bool is_enabled(const json_t *config)
{
	rg_json_foreach (command, json_object_get(config, "runcmd"))
		if (g_strcmp0(json_string_value(json_array_get(command, 0)), "systemctl") == 0 &&
			rg_json_has_text(command, "enable") && rg_json_has_text(command, "--now") &&
			rg_json_has_text(command, SERVICE))
			return true;
	return false;
}

/* The program that the unit starts is there, and may be executed. */
static bool has_program(const json_t *config)
{
	static const char *const option = "\nExecStart=";
	const char *unit = rg_json_str(rg_sim_user_file(config, UNIT), "content", "");
	const char *start = strstr(unit, option);
	if (!start)
		return false;
	start += strlen(option);
	g_autofree char *path = g_strndup(start, strcspn(start, " \n"));
	const json_t *program = rg_sim_user_file(config, path);
	return g_str_has_prefix(rg_json_str(program, "content", ""), "#!") &&
	       g_str_equal(rg_json_str(program, "permissions", ""), "0755");
}

bool rg_sim_lease_is_watched(const void *user_data, gsize len, const char *path)
{
	json_auto_t *config = rg_sim_user_config(user_data, len);
	const json_t *fragment = rg_sim_user_file(config, FRAGMENT);
	return is_enabled(config) && has_program(config) &&
	       strstr(rg_json_str(fragment, "content", ""), path) != NULL;
}

gint64 rg_sim_lease_end_ms(const char *text, gint64 now_ms)
{
	g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
	if (!g_regex_match_simple("^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$", text,
		    G_REGEX_DOLLAR_ENDONLY, 0))
		return 0;
	g_autoptr(GDateTime) end = g_date_time_new_from_iso8601(text, utc);
	return end ? MAX(g_date_time_to_unix(end) * 1000, now_ms + LOOK_MS) : 0;
}
