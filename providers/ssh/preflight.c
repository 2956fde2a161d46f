/* preflight: which hosts a create would claim, and what is wrong with them. Asks no host again that
 * answered in this run. */
#include "common/preflight.h"
#include "ssh/claim.h"
#include "ssh/observe.h"

#define SHOWN_MAX 8
#define SKEW_MAX_S 60
/* 19.03, which has `docker run --gpus`: docs.docker.com/engine/release-notes/19.03 */
#define DOCKER_GPUS 1903
#define DISK_MIN_KIB (20ll * 1024 * 1024)

static int64_t number_of(const SshRun *run, const char *key)
{
	return g_ascii_strtoll(mod_str(run->answer, key), NULL, 10);
}

/* "20.10.24+dfsg1" -> 2010 */
static guint64 version_of(const char *text)
{
	char *end = NULL;
	guint64 major = g_ascii_strtoull(text, &end, 10);
	return major * 100 + (*end == '.' ? g_ascii_strtoull(end + 1, NULL, 10) : 0);
}

static void check_docker(ModFindings *findings, const ModFinding *warning, const SshRun *run)
{
	const char *name = run->host->name, *version = mod_str(run->answer, "docker_version");
	if (!mod_has_text(json_object_get(run->answer, "runtime"), "docker"))
		mod_find_out(findings, warning,
			"%s has no docker: the node gives up unless `initialization_commands` "
			"install it",
			name);
	else if (!*version)
		mod_find_out(findings, warning,
			"docker of %s does not answer: the node waits until its service runs",
			name);
	else if (ssh_shape_gpus(run->host->shape) > 0 && version_of(version) < DOCKER_GPUS)
		mod_find_out(findings, warning,
			"%s has docker %s, and containers get GPUs from 19.03 on", name, version);
}

static void check_host(ModFindings *findings, const json_t *create, const SshRun *run)
{
	const ModFinding warning = {.severity = "warning",
		.class_ = RGP_CLASS_INVALID,
		.create = create,
		.origin = run->host->origin};
	const char *name = run->host->name;
	int64_t skew_s = mod_int(run->answer, "skew_s"), free_kib = number_of(run, "disk_kib");
	check_docker(findings, &warning, run);
	if (ABS(skew_s) > SKEW_MAX_S)
		mod_find_out(findings, &warning, "the clock of %s is %d s %s this machine's", name,
			(int)ABS(skew_s), skew_s > 0 ? "ahead of" : "behind");
	if (json_object_get(run->answer, "slow_name"))
		mod_find_out(findings, &warning,
			"%s does not resolve its own name within 1 s, and Ray may give up: add the "
			"name to /etc/hosts",
			name);
	if (free_kib < DISK_MIN_KIB)
		mod_find_out(findings, &warning,
			"%s has %.1f GiB free in /var/lib: a container image of Ray takes 10 or "
			"more",
			name, (double)free_kib / (1024 * 1024));
}

/* Other pools of the plan take the hosts that have the labels. */
static void check_labels(ModFindings *findings, const json_t *create, int64_t left)
{
	const ModFinding error = {.severity = "error",
		.class_ = RGP_CLASS_CAPACITY,
		.create = create,
		.attribute = "labels",
		.hint = "other pools of the plan take the rest: use fewer nodes, or give more "
			"hosts the labels"};
	mod_find_out(findings, &error,
		"pool %s needs more hosts with the labels that it requires: %d",
		mod_pool_of(create), (int)left);
}

/* Others may be faster: then the next free ones are claimed. */
static void check_create(
	ModFindings *findings, const json_t *create, const GPtrArray *runs, GHashTable *taken)
{
	int64_t left = mod_int(create, "count"), shown = 0;
	g_autoptr(GString) names = g_string_new(NULL);
	g_autoptr(GPtrArray) free =
		ssh_runs_that_may_be(runs, json_object_get(create, "attributes"));
	mod_ptr_foreach (const SshRun, run, free) {
		if (!left || g_hash_table_contains(taken, run->host))
			continue;
		left--;
		g_hash_table_add(taken, (gpointer)(uintptr_t)run->host);
		if (shown++ < SHOWN_MAX)
			g_string_append_printf(
				names, "%s%s", shown > 1 ? ", " : "", run->host->name);
		check_host(findings, create, run);
	}
	const ModFinding note = {
		.severity = "note", .class_ = RGP_CLASS_CAPACITY, .create = create};
	if (left && json_object_get(json_object_get(create, "attributes"), "labels"))
		check_labels(findings, create, left);
	if (shown > SHOWN_MAX)
		g_string_append_printf(names, " and %d more", (int)(shown - SHOWN_MAX));
	if (shown)
		mod_find_out(findings, &note, "%s takes %s", mod_pool_of(create), names->str);
}

rgp_status ssh_preflight(const ModCall *call, const json_t *input)
{
	ModFindings findings = {.talk = &call->talk};
	const json_t *creates = json_object_get(input, "creates");
	if (!json_array_size(creates))
		return RGP_OK;
	g_autoptr(GHashTable) taken = g_hash_table_new(g_direct_hash, g_direct_equal);
	g_autoptr(GPtrArray) runs = ssh_runs_of_all(call);
	rgp_status status = ssh_probe(call, runs, SSH_AGE_STOCK_S);
	if (status != RGP_OK)
		return status;
	mod_foreach (create, creates)
		check_create(&findings, create, runs, taken);
	return mod_findings_end(&findings, NULL);
}
