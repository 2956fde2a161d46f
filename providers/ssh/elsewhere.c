/* Reads inventories that other programs keep, when an instance is opened. */
#include "ssh/elsewhere.h"
#include "ssh/answer.h"
#include "ssh/inventory.h"

#define TIMEOUT_MS 60000
#define OF_ANSIBLE "/provider/inventory/ansible"
#define OF_TERRAFORM "/provider/inventory/terraform"

void ssh_items_clear(SshItems *items)
{
	g_clear_pointer(&items->items, json_decref);
	g_clear_pointer(&items->rules, json_decref);
	g_clear_pointer(&items->problem, g_free);
}

static void refuse(const ModTalk *talk, const char *origin, const char *path, const char *problem,
	const char *hint)
{
	g_autofree char *summary =
		g_strdup_printf("cannot use the inventory %s: %s", path, problem);
	mod_report_origin(talk, RGP_CLASS_INVALID, origin, summary, hint);
}

/* ---- ansible-inventory(1): it runs scripts and plugins of the inventory, so the path needs
 * consent (x-raygpu-trust) */

static bool run_ansible(const ModTalk *talk, const char *path, struct rgp_bytes *output)
{
	const char *const argv[] = {"ansible-inventory", "-i", path, "--list", NULL};
	const char *const env[] = {"ANSIBLE_NOCOLOR=1", NULL};
	const struct rgp_exec_req req = {.size = sizeof req,
		.flags = RGP_EXEC_READING,
		.argv = argv,
		.env = env,
		.timeout_ms = TIMEOUT_MS};
	struct rgp_exec_resp resp = {.size = sizeof resp};
	const struct rgp_exec_req *reqs[] = {&req};
	struct rgp_exec_resp *resps[] = {&resp};
	rgp_status status = talk->host->exec_all(talk->call, reqs, 1, resps);
	*output = resp.output;
	if (status == RGP_OK && resp.status == 0)
		return true;
	if (status == RGP_CANCELED)
		return false;
	g_autofree char *line = ssh_last_line(resp.errors);
	refuse(talk, OF_ANSIBLE, path,
		resp.status < 0 ? "`ansible-inventory` did not run, took longer than a minute, or "
				  "printed more than 1 MiB"
		: line		? line
				: "`ansible-inventory` failed without a reason",
		resp.status < 0 ? "install ansible-core" : NULL);
	return false;
}

static SshItems read_ansible(const ModTalk *talk, const json_t *inventory)
{
	struct rgp_bytes output = {0};
	const char *group = mod_str(inventory, "group");
	if (!run_ansible(talk, mod_str(inventory, "ansible"), &output))
		return (SshItems){0};
	return ssh_ansible_read(output, *group ? group : "all");
}

static SshItems read_terraform(const ModTalk *talk, const json_t *inventory)
{
	struct rgp_bytes text = {0};
	const char *path = mod_str(inventory, "terraform");
	g_autofree char *full =
		g_str_has_prefix(path, "~/") ? g_strdup(path) : g_canonicalize_filename(path, NULL);
	if (talk->host->read_file(talk->call, full, &text) == RGP_OK)
		return ssh_terraform_read(text, mod_str(inventory, "output"));
	refuse(talk, OF_TERRAFORM, path, "the file cannot be read",
		"write it with `terraform output -json`");
	return (SshItems){0};
}

json_t *ssh_elsewhere_join(const ModTalk *talk, const json_t *config)
{
	const json_t *inventory = json_object_get(config, "inventory");
	const char *ansible = mod_str(inventory, "ansible");
	json_t *joined = json_deep_copy(config);
	if (!inventory)
		return joined;
	const char *origin = *ansible ? OF_ANSIBLE : OF_TERRAFORM;
	g_auto(SshItems) items =
		*ansible ? read_ansible(talk, inventory) : read_terraform(talk, inventory);
	if (items.problem)
		refuse(talk, origin, *ansible ? ansible : mod_str(inventory, "terraform"),
			items.problem, NULL);
	if (items.problem || !items.items) {
		json_decref(joined);
		return NULL;
	}
	if (!json_object_get(joined, "hosts"))
		json_object_set_new(joined, "hosts", json_array());
	mod_foreach (item, items.items) {
		json_object_set_new(item, "origin", json_string(origin));
		json_array_append(json_object_get(joined, "hosts"), item);
	}
	return joined;
}
