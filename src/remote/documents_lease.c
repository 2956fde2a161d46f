/* A lock expires if nobody renews it, because a machine of a pipeline can disappear. Renewing needs
 * a thread: a run may wait for its nodes much longer. The thread writes the lock object only; all
 * else is the store's thread's. */
#include "remote/documents.h"
#include <sys/prctl.h>
#include <time.h>

#define RENEW_MS 45000

struct DocLease {
	RgObjects *objects;
	char *name;
	json_t *mine;
	GBytes *bytes;
	pthread_mutex_t lock; /* what follows */
	pthread_cond_t changed;
	char *version;
	int64_t renewed_ms;
	bool busy, lost, ending, has_thread;
	pthread_t thread;
};

/* Goes on while the machine is suspended. */
static int64_t boot_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_BOOTTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* It may be our own write whose answer was lost. */
static bool is_mine(DocLease *lease, char **version)
{
	g_autoptr(RgDiags) unused = rg_diags_new();
	g_auto(RgObject) object = {0};
	if (lease->objects->get(lease->objects, lease->name, &object, unused) != RG_OBJECT_DONE ||
		!g_bytes_equal(object.content, lease->bytes))
		return false;
	*version = g_steal_pointer(&object.version);
	return true;
}

static unsigned period_ms(const RgObjects *objects)
{
	return objects->renew_ms > 0 ? objects->renew_ms : RENEW_MS;
}

/* Almost expired: the machine was suspended, or the store is away. */
static int64_t old_ms(const RgObjects *objects)
{
	return (int64_t)period_ms(objects) * 10 / 3;
}

unsigned doc_lease_ttl_s(const RgObjects *objects)
{
	return (period_ms(objects) * 4 + 999) / 1000;
}

/* With the mutex held, which it gives away while it waits for the store. */
static void renew(DocLease *lease)
{
	while (lease->busy)
		pthread_cond_wait(&lease->changed, &lease->lock);
	if (lease->lost)
		return;
	lease->busy = true;
	g_autofree char *version = g_strdup(lease->version);
	pthread_mutex_unlock(&lease->lock);
	g_autoptr(RgDiags) unused = rg_diags_new();
	g_autofree char *written = NULL;
	RgObjectResult result = lease->objects->put(
		lease->objects, lease->name, lease->bytes, version, &written, unused);
	bool mine = result == RG_OBJECT_DONE ||
		    (result == RG_OBJECT_CONFLICT && is_mine(lease, &written));
	pthread_mutex_lock(&lease->lock);
	lease->busy = false;
	lease->lost |= result == RG_OBJECT_CONFLICT && !mine;
	if (mine) {
		g_free(lease->version);
		lease->version = g_steal_pointer(&written);
		lease->renewed_ms = boot_ms();
	}
	pthread_cond_broadcast(&lease->changed);
}

static struct timespec next_renewal(const RgObjects *objects)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	int64_t ns = until.tv_nsec + (int64_t)period_ms(objects) * 1000000;
	return (struct timespec){
		.tv_sec = until.tv_sec + ns / 1000000000, .tv_nsec = ns % 1000000000};
}

static void *keep(void *data)
{
	DocLease *lease = data;
	prctl(PR_SET_NAME, "lease");
	pthread_mutex_lock(&lease->lock);
	while (!lease->ending && !lease->lost) {
		struct timespec until = next_renewal(lease->objects);
		while (!lease->ending &&
			pthread_cond_timedwait(&lease->changed, &lease->lock, &until) == 0)
			;
		if (!lease->ending)
			renew(lease);
	}
	pthread_mutex_unlock(&lease->lock);
	return NULL;
}

DocLease *doc_lease_start(RgObjects *objects, const char *name, json_t *mine, const char *version)
{
	DocLease *lease = g_new0(DocLease, 1);
	pthread_condattr_t attributes;
	lease->objects = objects;
	lease->name = g_strdup(name);
	lease->mine = mine;
	lease->version = g_strdup(version);
	lease->renewed_ms = boot_ms();
	pthread_mutex_init(&lease->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&lease->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	if (!version)
		return lease; /* a lock of the store's own */
	lease->bytes = doc_pack(json_incref(mine));
	lease->has_thread = pthread_create(&lease->thread, NULL, keep, lease) == 0;
	return lease;
}

bool doc_lease_holds(DocLease *lease)
{
	pthread_mutex_lock(&lease->lock);
	if (lease->bytes && boot_ms() - lease->renewed_ms > old_ms(lease->objects))
		renew(lease);
	bool holds = !lease->lost;
	pthread_mutex_unlock(&lease->lock);
	return holds;
}

bool doc_lease_is_lost(DocLease *lease)
{
	pthread_mutex_lock(&lease->lock);
	bool lost = lease->lost;
	pthread_mutex_unlock(&lease->lock);
	return lost;
}

static void release(DocLease *lease)
{
	g_autoptr(RgDiags) unused = rg_diags_new();
	g_autofree char *written = NULL;
	if (!lease->bytes) {
		lease->objects->unlock(lease->objects, lease->mine, unused);
		return;
	}
	g_autoptr(GBytes) bytes = doc_pack(doc_holder_free());
	lease->objects->put(lease->objects, lease->name, bytes, lease->version, &written, unused);
}

void doc_lease_end(DocLease *lease, bool release_it)
{
	pthread_mutex_lock(&lease->lock);
	lease->ending = true;
	pthread_cond_broadcast(&lease->changed);
	pthread_mutex_unlock(&lease->lock);
	if (lease->has_thread)
		pthread_join(lease->thread, NULL);
	if (release_it && !lease->lost)
		release(lease);
	pthread_cond_destroy(&lease->changed);
	pthread_mutex_destroy(&lease->lock);
	g_clear_pointer(&lease->bytes, g_bytes_unref);
	json_decref(lease->mine);
	g_free(lease->version);
	g_free(lease->name);
	g_free(lease);
}
