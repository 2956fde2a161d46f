/* Opens an instance: the inventory of the spec, or that it names. No host is asked. */
#include "common/open.h"
#include "ssh/elsewhere.h"
#include "ssh/observe.h"

#define FOLDER_MAX 46 /* sun_path may have 104 bytes: a name of 41, and a suffix of ssh of 17 */

void ssh_close(struct rgp_inst *inst)
{
	if (!inst)
		return;
	ssh_inventory_free(inst->hosts);
	g_hash_table_unref(inst->seen);
	g_mutex_clear(&inst->lock);
	g_mutex_clear(&inst->asking);
	json_decref(inst->config);
	g_free(inst->sockets);
	g_free(inst);
}

/* Where there is a folder that only the user can enter (XDG Base Directory Specification). */
static char *sockets_of(const ModTalk *talk)
{
	const char *folder = mod_open_env(talk, "XDG_RUNTIME_DIR");
	bool usable = g_path_is_absolute(folder) && strlen(folder) <= FOLDER_MAX &&
		      !strpbrk(folder, "%\" \n");
	return usable ? g_strdup(folder) : NULL;
}

/* Pure calls need no hosts. */
static json_t *config_of(const ModTalk *talk, const json_t *input)
{
	const json_t *config = json_object_get(input, "config");
	return json_is_true(json_object_get(input, "offline")) ? json_deep_copy(config)
							       : ssh_elsewhere_join(talk, config);
}

rgp_status ssh_open(const struct rgp_host *host, struct rgp_call *call, const struct rgp_args *args,
	struct rgp_inst **out)
{
	const ModTalk talk = {host, call};
	json_auto_t *input = mod_input(&talk, args);
	g_autofree char *problem = NULL, *origin = NULL;
	if (!input)
		return RGP_FAIL;
	struct rgp_inst *inst = g_new0(struct rgp_inst, 1);
	g_mutex_init(&inst->lock);
	g_mutex_init(&inst->asking);
	inst->seen = ssh_seen_new();
	inst->config = config_of(&talk, input);
	inst->hosts = inst->config ? ssh_inventory_new(inst->config, &problem, &origin) : NULL;
	if (!inst->hosts) {
		if (problem)
			mod_report_origin(&talk, RGP_CLASS_INVALID, origin, problem, NULL);
		ssh_close(inst);
		return RGP_FAIL;
	}
	if (!json_is_true(json_object_get(input, "offline")))
		inst->sockets = sockets_of(&talk);
	*out = inst;
	return RGP_OK;
}
