/* The account of the credentials: requested while the cloud is read, and compared with the state's.
 * What another account does not show must not count as gone. */
#include <pthread.h>
#include <string.h>
#include "pipeline/internal.h"

struct RgAsking {
	RgProvider *provider;
	pthread_t thread;
	bool running;
	RgDiags *diags;
	char *id, *acting;
	bool ok;
	int answered; /* atomic: id and ok are set */
};

static void *ask(void *data)
{
	struct RgAsking *asking = data;
	g_auto(RgAccount) account = {0};
	asking->ok = rg_provider_account(asking->provider, &account, asking->diags);
	asking->id = g_steal_pointer(&account.id);
	asking->acting = g_steal_pointer(&account.acting);
	g_atomic_int_set(&asking->answered, 1);
	return NULL;
}

void rg_pass_ask_account(RgPass *pass)
{
	struct RgAsking *asking = g_new0(struct RgAsking, 1);
	asking->provider = pass->provider;
	asking->diags = rg_diags_new();
	pass->asking = asking;
	asking->running = pthread_create(&asking->thread, NULL, ask, asking) == 0;
	if (!asking->running)
		ask(asking);
}

static void wait_for(struct RgAsking *asking)
{
	if (asking->running)
		pthread_join(asking->thread, NULL);
	asking->running = false;
}

void pass_forget_account(RgPass *pass)
{
	if (!pass->asking)
		return;
	wait_for(pass->asking);
	rg_diags_free(pass->asking->diags);
	g_free(pass->asking->id);
	g_free(pass->asking->acting);
	g_clear_pointer(&pass->asking, g_free);
}

static bool is_pinned(const RgSnapshot *snapshot)
{
	return snapshot->account &&
	       (rg_resource_set_size(snapshot->recorded) || snapshot->journal->len);
}

static bool is_other(const RgPass *pass)
{
	return is_pinned(pass->snapshot) && pass->asking->id &&
	       !g_str_equal(pass->asking->id, pass->snapshot->account);
}

bool pass_is_elsewhere(const void *data)
{
	const RgPass *pass = data;
	return pass->asking && g_atomic_int_get(&pass->asking->answered) && is_other(pass);
}

static bool account_refuse(const RgPass *pass, RgDiags *diags)
{
	const RgSnapshot *snapshot = pass->snapshot;
	RgDiag *diag = rg_diags_error(diags, "plan.wrong-account",
		"cluster %s is in account %s of %s, but the credentials belong to account %s",
		snapshot->cluster, snapshot->account, snapshot->provider, pass->account);
	if (pass->cluster)
		rg_diag_at(diag, rg_cluster_source(pass->cluster, "/provider"));
	rg_diag_detail(diag, "nothing was changed");
	rg_diag_hint(diag, "use credentials or a profile of account %s", snapshot->account);
	return false;
}

bool rg_pass_check_account(RgPass *pass, bool warn, RgDiags *diags)
{
	struct RgAsking *asking = pass->asking;
	if (!asking || pass->account)
		return true;
	wait_for(asking);
	pass->account = g_strdup(asking->id);
	pass->acting = g_strdup(asking->acting);
	if (is_other(pass))
		return account_refuse(pass, diags);
	if (!is_pinned(pass->snapshot) || asking->ok || !warn)
		return true;
	/* the other guards still apply, so this is no reason to stop */
	RgDiag *diag = rg_diags_warning(diags, "plan.wrong-account",
		"could not check whether the credentials belong to account %s, where cluster %s is",
		pass->snapshot->account, pass->snapshot->cluster);
	if (rg_diags_count(asking->diags))
		rg_diag_detail(diag, "%s", rg_diags_get(asking->diags, 0)->summary);
	return true;
}
