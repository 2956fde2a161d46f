#include "command.h"
#include "state/write.h"

int state_unlock(Context *context, const char *id)
{
	g_autofree char *cluster = NULL;
	context->store = context_open_state(context, RG_STORE_WRITE, context->diags);
	if (!context->store || !rg_store_unlock(context->store, id, &cluster, context->diags))
		return rg_diags_exit_code(context->diags);
	if (context->json) {
		json_auto_t *answer = json_pack("{s:s, s:s}", "id", id, "cluster", cluster);
		out_json(answer);
		return EXIT_FINE;
	}
	g_autofree char *text =
		*cluster ? g_strdup_printf("Ended the lock of cluster %s.\n", cluster)
			 : g_strdup("Ended the lock of the state.\n");
	out_text(text);
	return EXIT_FINE;
}
