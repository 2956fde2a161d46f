#include "doctor/checkup.h"
#include <stdlib.h>
#include <string.h>

/* The checks of the cloud: credentials, account, clock, endpoints; and, with a spec, a plan that is
 * not shown, for permissions, quotas and everything else that would stop an apply. */

/* Clouds refuse requests at a skew of 5 minutes and more. */
#define SKEW_ERROR_S 240
#define SKEW_WARNING_S 60
#define SKEW_NONE_S 2 /* servers give whole seconds, and their answers take some time */

typedef struct {
	unsigned requests, answers;
} DoctorServer;

static const char *const of_credentials[] = {"credentials", "account", "clock", "endpoints", NULL};
static const char *const of_plan[] = {"permissions", "quotas", "plan", NULL};

/* ---- what the requests met */

/* "https://host:port" of a URL; g_free. */
static char *server_of(const char *url)
{
	const char *host = strstr(url, "://");
	return host ? g_strndup(url, (gsize)(host - url) + 3 + strcspn(host + 3, "/?#"))
		    : g_strdup(url);
}

static void on_try(void *data, const RgHttpSeen *seen)
{
	DoctorSeen *all = data;
	g_autofree char *name = server_of(seen->url);
	pthread_mutex_lock(&all->lock);
	DoctorServer *server = g_hash_table_lookup(all->servers, name);
	if (!server) {
		server = g_new0(DoctorServer, 1);
		g_hash_table_insert(all->servers, g_steal_pointer(&name), server);
	}
	server->requests++;
	server->answers += seen->status != 0;
	if (seen->dated) {
		all->dated = true;
		all->skew_s = seen->skew_s;
	}
	pthread_mutex_unlock(&all->lock);
}

static void check_clock(Doctor *doctor)
{
	const DoctorSeen *seen = &doctor->seen;
	int64_t off_s = ABS(seen->skew_s);
	g_autoptr(RgDiags) found = rg_diags_new();
	if (!seen->dated) {
		doctor_skip(doctor, "no server answered with its time",
			(const char *const[]){"clock", NULL});
		return;
	}
	if (off_s >= SKEW_WARNING_S) {
		RgDiag *diag = (off_s >= SKEW_ERROR_S ? rg_diags_error : rg_diags_warning)(found,
			"doctor.clock",
			"this machine's clock is %" G_GINT64_FORMAT
			" s (%.1f minutes) %s the cloud's",
			off_s, (double)off_s / 60, seen->skew_s > 0 ? "behind" : "ahead of");
		rg_diag_detail(diag, "clouds refuse requests from 5 minutes on");
		rg_diag_hint(diag, "set the clock (e.g. `timedatectl set-ntp true`)");
	}
	if (!doctor_take(doctor, "clock", found))
		return;
	if (off_s <= SKEW_NONE_S)
		doctor_ok(doctor, "clock", "within %d s of the cloud's", SKEW_NONE_S);
	else
		doctor_ok(doctor, "clock", "%" G_GINT64_FORMAT " s from the cloud's", off_s);
}

static void check_endpoints(Doctor *doctor)
{
	g_autoptr(GList) names = g_hash_table_get_keys(doctor->seen.servers);
	names = g_list_sort(names, (GCompareFunc)strcmp);
	for (const GList *at = names; at; at = at->next) {
		const DoctorServer *server = g_hash_table_lookup(doctor->seen.servers, at->data);
		if (server->answers)
			doctor_ok(doctor, "endpoints", "%s answers", (const char *)at->data);
	}
}

/* ---- credentials and account */

static void compare_accounts(const RgSnapshot *snapshot, const RgAccount *account, RgDiags *found)
{
	if (!snapshot || !snapshot->account || !account->id ||
		!rg_resource_set_size(snapshot->recorded) ||
		g_str_equal(snapshot->account, account->id))
		return;
	RgDiag *diag = rg_diags_error(found, "plan.wrong-account",
		"cluster %s is in account %s, but the credentials belong to account %s",
		snapshot->cluster, snapshot->account, account->id);
	rg_diag_hint(diag, "use credentials or a profile of account %s", snapshot->account);
}

/* What the cloud refuses here is the credentials: this call needs no permission. */
static const char *area_of_account(const RgDiags *found)
{
	for (size_t i = 0; i < rg_diags_count(found); i++) {
		if (g_str_has_prefix(rg_diags_get(found, i)->code, "http."))
			return "endpoints";
	}
	return "credentials";
}

/* false: nothing more can be asked with these credentials. */
static bool check_account(Doctor *doctor, const RgPass *pass)
{
	g_autoptr(RgDiags) found = rg_diags_new(), other = rg_diags_new();
	g_auto(RgAccount) account = {0};
	const char *provider = rg_provider_name(pass->provider);
	bool ok = rg_provider_account(pass->provider, &account, found);
	const char *area = area_of_account(found);
	bool refused = !ok && g_str_equal(area, "credentials");
	if (refused && account.credentials && rg_diags_count(found)) {
		RgDiag *diag = (RgDiag *)(uintptr_t)rg_diags_get(found, 0);
		g_autofree char *detail = g_strdup(diag->detail);
		rg_diag_detail(diag, "the credentials are from %s%s%s", account.credentials,
			detail ? "\n" : "", detail ? detail : "");
	}
	doctor_take(doctor, area, found);
	if (!refused && account.credentials)
		doctor_ok(doctor, "credentials", "of %s: from %s", provider, account.credentials);
	else if (!refused)
		doctor_ok(doctor, "credentials", "module %s does not report where they are from",
			provider);
	compare_accounts(pass->snapshot, &account, other);
	if (doctor_take(doctor, "account", other) && account.id)
		doctor_ok(doctor, "account", "%s%s%s", account.id, account.acting ? ": " : "",
			account.acting ? account.acting : "");
	return !refused;
}

/* ---- a plan that is not shown */

static void hint_policy(const Doctor *doctor, const RgPass *pass, RgDiags *found)
{
	bool offered = pass->provider && rg_provider_offers(pass->provider, "permissions");
	for (size_t i = 0; offered && i < rg_diags_count(found); i++) {
		RgDiag *diag = (RgDiag *)(uintptr_t)rg_diags_get(found, i);
		if (!g_str_equal(diag->code, "provider.denied") || !diag->cloud_code)
			continue;
		const char *task = diag->severity == RG_SEVERITY_ERROR ? "--for plan " : "";
		g_autofree char *before = g_strdup(diag->hint);
		rg_diag_hint(diag, "`raygpu iam %s%s` prints the minimum permissions%s%s", task,
			doctor->spec, before ? "; " : "", before ? before : "");
	}
}

/* Which permissions that the spec needs are missing, if the cloud can report it. */
static void check_permissions(Doctor *doctor, const RgPass *pass)
{
	const RgCluster *cluster = pass->cluster;
	g_autoptr(RgDiags) found = rg_diags_new(), failed = rg_diags_new();
	if (!rg_provider_offers(pass->provider, "preflight"))
		return;
	json_auto_t *input = json_pack("{s:s, s:s?, s:O, s:O, s:{}}", "for", "apply", "account",
		pass->snapshot->account, "config", cluster->provider.config, "spec", cluster->view,
		"with");
	if (!rg_provider_test_permissions(
		    pass->provider, cluster->name, input, found, &doctor->tested, failed)) {
		const RgDiag *why = rg_diags_count(failed) ? rg_diags_get(failed, 0) : NULL;
		RgDiag *diag = rg_diags_warning(
			found, "plan.unchecked", "permissions could not be checked");
		if (why)
			rg_diag_detail(diag, "%s", why->summary);
		if (why && why->hint)
			rg_diag_hint(diag, "%s", why->hint);
	} else if (rg_diags_count(found)) {
		RgDiag *first = (RgDiag *)(uintptr_t)rg_diags_get(found, 0);
		rg_diag_hint(first, "`raygpu iam %s` prints what to grant", doctor->spec);
	}
	doctor_take_by_code(doctor, "permissions", found);
}

/* `tried`: the creation of what exists. */
static void report_plan(Doctor *doctor, const RgPass *pass, bool tried)
{
	const RgPlan *plan = pass->plan;
	unsigned added = plan->create + plan->replace;
	bool asked = added && rg_provider_offers(pass->provider, "preflight");
	bool fine = !doctor_has_findings(doctor, "permissions");
	if (fine && doctor->tested)
		doctor_ok(doctor, "permissions",
			"plan: everything could be read; apply: all %zu permissions that were "
			"tested are granted",
			doctor->tested);
	else if (fine)
		doctor_ok(doctor, "permissions", "plan: everything could be read; apply: %s",
			tried	? "the creation of the whole cluster was tried without making "
				  "anything"
			: asked ? "the creations were tried without making anything"
				: "nothing was tried");
	if (!doctor_has_findings(doctor, "quotas"))
		doctor_ok(doctor, "quotas", "%s",
			asked ? "enough for what the plan adds"
			      : "nothing to add, so nothing was compared");
	if (!doctor_has_findings(doctor, "plan"))
		doctor_ok(doctor, "plan", "%u to add, %u to change, %u to destroy", added,
			plan->update, plan->remove + plan->replace);
}

static void check_plan(Doctor *doctor)
{
	Context *context = doctor->context;
	g_autoptr(RgDiags) found = rg_diags_new();
	g_autoptr(RgPass) pass =
		rg_pipeline_load(doctor->spec, context->ref, context->trusted, found);
	bool planned = pass && rg_pipeline_plan(&context->session, pass, found);
	status_clear(context);
	bool tried = planned && rg_pipeline_try_creates(&context->session, pass, found);
	size_t incomplete = 0;
	for (size_t i = 0; i < rg_diags_count(found); i++)
		incomplete += g_str_equal(rg_diags_get(found, i)->code, "refresh.incomplete");
	if (rg_diags_count_of(found, RG_SEVERITY_ERROR) > incomplete)
		rg_diags_drop(found, "refresh.incomplete"); /* a consequence of the others */
	if (pass)
		hint_policy(doctor, pass, found);
	doctor_take_by_code(doctor, "plan", found);
	doctor->plan = planned ? rg_plan_to_json(pass->plan) : NULL;
	if (planned)
		report_plan(doctor, pass, tried);
	else
		doctor_skip(doctor, "no plan could be made", of_plan);
}

/* ---- in their order */

static bool check_pass(Doctor *doctor, RgPass *pass)
{
	Context *context = doctor->context;
	g_autoptr(RgDiags) found = rg_diags_new();
	bool opened = rg_pass_settle(&context->session, pass, found) &&
		      rg_pass_open(&context->session, pass, found);
	doctor_take_by_code(doctor, "spec", found);
	return opened && check_account(doctor, pass);
}

/* Without a spec: only what the recorded clusters show. */
static void check_recorded(Doctor *doctor)
{
	Context *context = doctor->context;
	g_autoptr(RgDiags) unread = rg_diags_new();
	g_auto(GStrv) names = rg_store_clusters(context->store, unread);
	for (guint i = 0; names && names[i]; i++) {
		g_autoptr(RgDiags) found = rg_diags_new();
		g_autoptr(RgPass) pass =
			rg_pipeline_open_recorded(&context->session, names[i], found);
		doctor_take_by_code(doctor, "state", found);
		if (pass)
			check_account(doctor, pass);
	}
	if (!names || !names[0])
		doctor_skip(
			doctor, "there is no spec, and the state has no cluster", of_credentials);
	doctor_skip(doctor, "there is no spec", of_plan);
}

void doctor_check_clouds(Doctor *doctor, RgPass *pass)
{
	Context *context = doctor->context;
	context_open_session(context, RG_STORE_READ);
	context->session.http.on_try = on_try;
	context->session.http.on_try_data = &doctor->seen;
	if (!pass)
		check_recorded(doctor);
	else if (check_pass(doctor, pass)) {
		check_permissions(doctor, pass);
		check_plan(doctor);
	} else
		doctor_skip(doctor, "the cloud does not accept the credentials, or was not asked",
			of_plan);
	if (pass || g_hash_table_size(doctor->seen.servers))
		check_clock(doctor);
	check_endpoints(doctor);
}
