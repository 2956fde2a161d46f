/* How old a lock may be: its holder asks the store at ten thirds of a period, and for others it
 * ends after four. Nobody waits: virtual_clock.c. */
#include <glib.h>
#include "base/clock.h"
#include "remote/documents.h"

#define PERIOD_S 45

typedef struct {
	RgObjects objects;
	gint puts; /* atomic */
} Store;

/* A store that does not answer, so that the lock grows old. */
static RgObjectResult put(RgObjects *objects, const char *name, GBytes *content,
	const char *version, char **written, RgDiags *diags)
{
	g_atomic_int_inc(&((Store *)objects)->puts);
	return RG_OBJECT_FAILED;
}

static void wait_until(int64_t end_ms)
{
	g_usleep((gulong)(end_ms - rg_clock_monotonic_ms()) * 1000);
}

/* The thread has asked at 45, 90 and 135 s. */
static void test_an_old_lock_is_renewed_before_it_is_trusted(void)
{
	Store store = {.objects = {.put = put}};
	int64_t begun_ms = rg_clock_monotonic_ms();
	DocLease *lease = doc_lease_start(&store.objects, "lock", json_object(), "1");
	wait_until(begun_ms + 148 * 1000);
	g_assert_true(doc_lease_holds(lease));
	g_assert_cmpint(g_atomic_int_get(&store.puts), ==, 3);
	wait_until(begun_ms + 152 * 1000);
	g_assert_true(doc_lease_holds(lease));
	g_assert_cmpint(g_atomic_int_get(&store.puts), ==, 4);
	doc_lease_end(lease, false);
}

static void test_it_ends_after_four_periods(void)
{
	static const struct {
		unsigned renew_ms, ttl_s;
	} rows[] = {{0, 4 * PERIOD_S}, {250, 1}, {251, 2}, {1000, 4}};
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		const RgObjects objects = {.renew_ms = rows[i].renew_ms};
		g_assert_cmpuint(doc_lease_ttl_s(&objects), ==, rows[i].ttl_s);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/remote/lease/old", test_an_old_lock_is_renewed_before_it_is_trusted);
	g_test_add_func("/remote/lease/ttl", test_it_ends_after_four_periods);
	return g_test_run();
}
