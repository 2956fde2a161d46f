/* resolve: which shapes there are in which racks, and how many hosts of them are free. */
#include "ssh/claim.h"
#include "ssh/figures.h"
#include "ssh/observe.h"

static json_t *images_of(const json_t *input)
{
	json_t *images = json_object();
	mod_foreach (image, json_object_get(input, "images"))
		json_object_set_new(
			images, mod_str(image, "key"), json_pack("{s:s}", "id", "none"));
	return images;
}

static void add_text(json_t *list, const char *text)
{
	if (!mod_has_text(list, text))
		json_array_append_new(list, json_string(text));
}

static json_t *racks_of(const ModCall *call)
{
	json_t *racks = json_array();
	mod_ptr_foreach (const SshHost, host, call->inst->hosts->all)
		add_text(racks, host->rack);
	return racks;
}

/* "cpu, A100-80GB:8"; g_free */
static char *shapes_of(const ModCall *call)
{
	json_auto_t *shapes = json_array();
	g_autoptr(GString) text = g_string_new(NULL);
	mod_ptr_foreach (const SshHost, host, call->inst->hosts->all)
		add_text(shapes, host->shape);
	mod_foreach (shape, shapes)
		g_string_append_printf(
			text, "%s%s", text->len ? ", " : "", json_string_value(shape));
	return g_string_free(g_steal_pointer(&text), FALSE);
}

static bool has_gpus(const char *shape)
{
	return ssh_shape_gpus(shape) > 0;
}

/* No host has any of the GPUs that are asked for. Where some have, the others may be the fallbacks
 * of a pool. */
static void tell_shapes(const ModCall *call)
{
	g_autofree char *shapes = shapes_of(call);
	g_autofree char *summary =
		g_strdup_printf("the hosts of the inventory have these shapes: %s", shapes);
	mod_report_warning(&call->talk, "/provider/hosts", summary,
		"a host with GPUs has `gpus`, a model of `raygpu offers` and a number: `gpus: "
		"\"A100-80GB:8\"`");
}

/* A shape that no host has is one of which none is free, so that the pool may use another. A
 * name of another form is nowhere. */
static json_t *offerings_of(const ModCall *call, const json_t *input)
{
	json_t *offerings = json_object();
	bool asked = false, found = false;
	mod_foreach (shape, json_object_get(input, "instance_types")) {
		const char *name = json_string_value(shape);
		json_t *racks = json_array();
		mod_ptr_foreach (const SshHost, host, call->inst->hosts->all)
			if (g_str_equal(host->shape, name))
				add_text(racks, host->rack);
		asked |= has_gpus(name);
		found |= has_gpus(name) && json_array_size(racks);
		if (!json_array_size(racks) && ssh_is_shape(name)) {
			json_decref(racks);
			racks = racks_of(call);
		}
		json_object_set_new(offerings, name, racks);
	}
	if (asked && !found)
		tell_shapes(call);
	return offerings;
}

/* ---- stock */

static void tell_gpus(const ModCall *call, const SshRun *run)
{
	g_autofree char *summary =
		g_strdup_printf("%s has %zu GPUs, and %s in the inventory", run->host->name,
			json_array_size(json_object_get(run->answer, "gpu")), run->host->shape);
	mod_report_warning(&call->talk, run->host->origin, summary,
		"nothing is placed there: correct the inventory, or the host's driver");
}

/* The host is used as it is; the plan was made with what the inventory says. */
static void tell_figures(const ModCall *call, const SshRun *run)
{
	const char *key = NULL;
	g_autofree char *summary =
		ssh_run_is_good(run) ? ssh_figures_differ(run->host, run->answer, &key) : NULL;
	if (!summary)
		return;
	g_autofree char *origin = run->host->is_elsewhere
					  ? g_strdup(run->host->origin)
					  : g_strconcat(run->host->origin, "/", key, NULL);
	mod_report_warning(&call->talk, origin, summary,
		"correct the inventory: plans compare workloads with it");
}

static void tell_silent(const ModCall *call, const SshRun *run)
{
	g_auto(ModFailure) failure = {0};
	ssh_run_fail(run, &failure);
	g_autofree char *summary = g_strdup_printf("cannot use the host %s", failure.message);
	mod_report_warning(&call->talk, run->host->origin, summary, failure.hint);
}

/* Of a host that this one may be, under another name; or what raygpu did not write. */
static void tell_foreign(const ModCall *call, const SshRun *run)
{
	const char *cluster = ssh_claim_text(run->answer, "cluster");
	g_autofree char *summary =
		*cluster ? g_strdup_printf("cannot use the host %s: it is claimed by %s as %s",
				   run->host->name, cluster, ssh_claim_text(run->answer, "id"))
			 : g_strdup_printf("cannot use the host %s: its claim is not one that "
					   "raygpu wrote",
				   run->host->name);
	mod_report_warning(&call->talk, run->host->origin, summary,
		"the claim is the file " SSH_CLAIM_FILE " on the host");
}

static void tell_container(const ModCall *call, const SshRun *run)
{
	g_autofree char *summary =
		g_strdup_printf("cannot use the host %s: it has a container `ray` that is not "
				"raygpu's",
			run->host->name);
	mod_report_warning(&call->talk, run->host->origin, summary,
		"remove or rename the container, or take the host out of the inventory");
}

/* Why a host of the inventory is not used: a warning at its line. */
static void tell_unusable(const ModCall *call, const SshRun *run)
{
	if (!ssh_run_is_good(run))
		tell_silent(call, run);
	else if (ssh_is_claimed(run->answer) && !ssh_claim_is_sound(run->answer, run->host))
		tell_foreign(call, run);
	else if (!ssh_has_its_gpus(run))
		tell_gpus(call, run);
	else if (json_object_get(run->answer, "foreign"))
		tell_container(call, run);
}

/* {SHAPE: {RACK: 0}}, where they are offered. */
static json_t *no_stock(const json_t *offerings)
{
	json_t *stock = json_object();
	mod_foreach_member (shape, racks, offerings) {
		json_t *none = json_object();
		mod_foreach (rack, racks)
			json_object_set_new(none, json_string_value(rack), json_integer(0));
		json_object_set_new(stock, shape, none);
	}
	return stock;
}

static void count(json_t *stock, const SshHost *host)
{
	json_t *racks = json_object_get(stock, host->shape);
	if (racks)
		json_object_set_new(
			racks, host->rack, json_integer(mod_int(racks, host->rack) + 1));
}

/* {SHAPE: {RACK: free hosts}} */
static json_t *stock_of(const ModCall *call, const json_t *offerings, const GPtrArray *runs)
{
	json_t *stock = no_stock(offerings);
	mod_ptr_foreach (const SshRun, run, runs) {
		if (!json_object_get(stock, run->host->shape))
			continue;
		tell_unusable(call, run);
		tell_figures(call, run);
		if (ssh_is_free(run))
			count(stock, run->host);
	}
	return stock;
}

/* Of the stock, the hosts with the labels that the pools require. */
static json_t *pool_stock_of(const json_t *input, const json_t *offerings, const GPtrArray *runs)
{
	json_t *pools = json_object();
	mod_foreach_member (pool, settings, json_object_get(input, "pools")) {
		json_t *stock = no_stock(offerings);
		mod_ptr_foreach (const SshRun, run, runs)
			if (ssh_is_free(run) &&
				ssh_has_labels(run->host, json_object_get(settings, "labels")))
				count(stock, run->host);
		json_object_set_new(pools, pool, stock);
	}
	return pools;
}

static rgp_status ask_stock(const ModCall *call, const json_t *input, json_t *facts)
{
	const json_t *offerings = json_object_get(facts, "offerings");
	g_autoptr(GPtrArray) runs = ssh_runs_of_all(call);
	rgp_status status = ssh_probe(call, runs, SSH_AGE_STOCK_S);
	if (status == RGP_OK)
		status = ssh_refuse_twins(call, runs);
	if (status != RGP_OK)
		return status;
	json_object_set_new(facts, "stock", stock_of(call, offerings, runs));
	json_object_set_new(facts, "pool_stock", pool_stock_of(input, offerings, runs));
	return RGP_OK;
}

/* By the racks of the inventory, whichever they were when a node was created. */
static json_t *racks_of_nodes(const ModCall *call, const json_t *ids)
{
	json_t *racks = json_object();
	mod_foreach (id, ids) {
		const char *text = json_string_value(id);
		const SshHost *host = ssh_host_of_id(call->inst->hosts, text);
		if (host)
			json_object_set_new(racks, text, json_string(host->rack));
	}
	return racks;
}

rgp_status ssh_resolve(const ModCall *call, const json_t *input)
{
	if (!mod_are_texts(json_object_get(input, "instance_types")))
		return mod_refuse(call, NULL, NULL, "instance_types of resolve must be texts");
	json_t *facts = json_pack("{s:o, s:o, s:o}", "images", images_of(input), "zones",
		racks_of(call), "offerings", offerings_of(call, input));
	rgp_status status = RGP_OK;
	if (json_array_size(json_object_get(input, "instance_types")))
		status = ask_stock(call, input, facts);
	if (json_is_true(json_object_get(input, "shapes"))) {
		json_object_set_new(facts, "shapes", ssh_figures(call->inst->hosts));
		json_object_set_new(
			facts, "node_zones", racks_of_nodes(call, json_object_get(input, "nodes")));
	}
	if (status == RGP_OK)
		return mod_give(&call->talk, "facts", facts);
	json_decref(facts);
	return status;
}
