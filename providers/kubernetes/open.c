/* Opens an instance: the kubeconfig and its files. No network, and no plug-in runs yet. */
#include "kubernetes/call.h"
#include "kubernetes/data.h"

#define TRIES 8 /* API Priority and Fairness refuses in bursts */

/* Members of a Status (kubernetes.io/docs/reference/kubernetes-api/common-definitions/status). */
static const char *const codes[] = {"/reason", NULL};
static const char *const messages[] = {"/message", NULL};

void kube_close(struct rgp_inst *inst)
{
	if (!inst)
		return;
	mod_lease_free(inst->lease);
	mod_errors_free(inst->errors);
	g_strfreev(inst->headers);
	json_decref(inst->login.certificate);
	kube_config_clear(&inst->config);
	json_decref(inst->settings);
	json_decref(inst->groups);
	json_decref(inst->seen);
	pthread_mutex_destroy(&inst->lock);
	g_free(inst);
}

static rgp_status open_login(const ModTalk *talk, struct rgp_inst *inst)
{
	if (kube_config_find(talk, inst->settings, &inst->config) != RGP_OK)
		return RGP_FAIL;
	inst->login = (KubeLogin){.config = &inst->config};
	if (kube_login_check(talk, &inst->login) != RGP_OK)
		return RGP_FAIL;
	inst->headers = kube_login_headers(talk, &inst->config);
	return inst->headers ? RGP_OK : RGP_FAIL;
}

rgp_status kube_open(const struct rgp_host *host, struct rgp_call *call,
	const struct rgp_args *args, struct rgp_inst **out)
{
	const ModTalk talk = {host, call};
	json_auto_t *input = mod_input(&talk, args);
	if (!input)
		return RGP_FAIL;
	struct rgp_inst *inst = g_new0(struct rgp_inst, 1);
	pthread_mutex_init(&inst->lock, NULL);
	inst->settings = json_deep_copy(json_object_get(input, "config"));
	bool offline = json_is_true(json_object_get(input, "offline"));
	if (!offline && open_login(&talk, inst) != RGP_OK) {
		kube_close(inst);
		return RGP_FAIL;
	}
	const ModLeaseSource source = kube_login_source(&inst->login);
	inst->errors = mod_errors_new(kube_data_find("errors.csv")->data, NULL);
	inst->lease = mod_lease_new(&source);
	inst->rest = (ModRest){.cloud = "Kubernetes",
		.base = inst->config.server,
		.lease = inst->lease,
		.lease_connects = true,
		.errors = inst->errors,
		.codes = codes,
		.messages = messages,
		.refine = kube_refine,
		.request_id = "audit-id",
		.max_tries = TRIES};
	*out = inst;
	return RGP_OK;
}
