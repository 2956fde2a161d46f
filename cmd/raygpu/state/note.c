#include "command.h"
#include "state/write.h"
#include <sys/utsname.h>

/* Commands that change only the state also record a run in `raygpu log`. */

json_t *note_meta(const char *command)
{
	struct utsname host;
	json_t *meta = json_object();
	rg_json_set_str(meta, "command", command);
	rg_json_set_str(meta, "user", g_get_user_name());
	rg_json_set_str(meta, "host", uname(&host) == 0 ? host.nodename : "?");
	return meta;
}

char *note_begin(Context *context, const char *command, const RgRunBegin *place)
{
	json_auto_t *meta = note_meta(command);
	g_autofree char *lineage = NULL;
	char *run = NULL;
	RgRunBegin begin = *place;
	begin.meta = meta;
	return rg_store_begin_run(context->store, &begin, &run, &lineage, context->diags) ? run
											  : NULL;
}

bool note_end(Context *context, const char *run, bool done)
{
	return rg_store_end_run(context->store, run, done ? "done" : "failed", context->diags) &&
	       done;
}
