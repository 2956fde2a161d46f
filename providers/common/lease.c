#include "common/lease.h"
#include <pthread.h>

/* Values are renewed this long before they expire, so that none expires while a request is in
 * flight. Values that last less are renewed once in RENEW_AGAIN_S. */
#define RENEW_BEFORE_S 300
#define RENEW_AGAIN_S 60

struct ModLease {
	ModLeaseSource source;
	pthread_mutex_t lock; /* what follows */
	char *value;	      /* NULL: none yet, or refused */
	int64_t expires_s, renewed_s;
	unsigned serial;
};

ModLease *mod_lease_new(const ModLeaseSource *source)
{
	ModLease *lease = g_new0(ModLease, 1);
	lease->source = *source;
	pthread_mutex_init(&lease->lock, NULL);
	return lease;
}

void mod_lease_free(ModLease *lease)
{
	if (!lease)
		return;
	pthread_mutex_destroy(&lease->lock);
	g_free(lease->value);
	g_free(lease);
}

static bool lease_is_due(const ModLease *lease, int64_t before_s, int64_t now_s)
{
	return !lease->value || (lease->expires_s && now_s >= lease->expires_s - before_s);
}

/* Under the lock. If no new value is available, a valid one stays in use: its source may recover
 * before it expires. */
static bool lease_renew(ModLease *lease, const ModTalk *talk)
{
	int64_t now_s = talk->host->now(talk->call), expires_s = 0;
	if (!lease_is_due(lease, RENEW_BEFORE_S, now_s))
		return true;
	bool valid = !lease_is_due(lease, 0, now_s);
	if (valid && now_s < lease->renewed_s + RENEW_AGAIN_S)
		return true;
	char *value = NULL;
	ModTalk quiet = *talk;
	quiet.quiet = talk->quiet || valid;
	rgp_status status = lease->source.get(&quiet, lease->source.data, &value, &expires_s);
	if (status == RGP_OK) {
		g_free(lease->value);
		lease->value = value;
		lease->expires_s = expires_s;
		lease->serial++;
	} else if (!valid || status == RGP_CANCELED) {
		return false;
	} else {
		g_autofree char *text = g_strdup_printf(
			"%s could not be renewed; the current ones are valid for %" G_GINT64_FORMAT
			" s",
			lease->source.title, lease->expires_s - now_s);
		talk->host->log(talk->call, RGP_LOG_INFO, text);
	}
	lease->renewed_s = now_s;
	return true;
}

char *mod_lease_get(ModLease *lease, const ModTalk *talk, unsigned *serial)
{
	pthread_mutex_lock(&lease->lock);
	char *value = lease_renew(lease, talk) ? g_strdup(lease->value) : NULL;
	*serial = lease->serial;
	pthread_mutex_unlock(&lease->lock);
	return value;
}

void mod_lease_refuse(ModLease *lease, unsigned serial)
{
	pthread_mutex_lock(&lease->lock);
	if (lease->serial == serial)
		g_clear_pointer(&lease->value, g_free);
	pthread_mutex_unlock(&lease->lock);
}
