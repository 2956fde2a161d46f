/* Writers killed at random times, and readers concurrent with a busy writer. What a call reported
 * as done must exist afterwards, what it did not report may exist or not, and nothing may exist
 * twice or in part. */
#include "state_fixture.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILLS 200
#define ADDRESSES 24
#define SEED 7

/* The writer's report of a transaction that returned true; one write(2) to a pipe. */
typedef struct {
	char what; /* 'o' open, 'c' created, 'f' failed, 'r' removed */
	int address;
	int64_t generation, attempt;
} Report;

static bool tell(int fd, char what, int address, int64_t generation, int64_t attempt)
{
	const Report report = {
		.what = what, .address = address, .generation = generation, .attempt = attempt};
	return write(fd, &report, sizeof(report)) == sizeof(report);
}

static char *cloud_id(int address, int64_t generation)
{
	return g_strdup_printf("i-%d-%" G_GINT64_FORMAT, address, generation);
}

/* Settles open members of the journal, some now, some later, some as failed. */
static bool settle_some(Fixture *f, const RgSnapshot *snapshot, GRand *rand, int fd)
{
	for (guint i = 0; i < snapshot->journal->len; i++) {
		const RgJournalRow *row = snapshot->journal->pdata[i];
		size_t k;
		const json_t *member;
		json_array_foreach (row->members, k, member) {
			const char *address = rg_json_str(member, "address", NULL);
			int64_t generation = rg_json_int(member, "generation", 0);
			int64_t attempt = rg_json_int(member, "attempt", 0);
			int number = (int)rg_resource_set_find(snapshot->recorded, address)->index;
			g_autofree char *id = cloud_id(number, generation);
			int dice = g_rand_int_range(rand, 0, 4);
			if (dice == 0)
				continue;
			bool made = dice != 1;
			if (!(made ? settle_created(f, row->id, address, id)
				   : settle_failed(f, row->id, address)) ||
				!tell(fd, made ? 'c' : 'f', number, generation, attempt))
				return false;
		}
	}
	return true;
}

static bool open_some(Fixture *f, const RgSnapshot *snapshot, GRand *rand, int fd)
{
	int first = g_rand_int_range(rand, 0, ADDRESSES), n = g_rand_int_range(rand, 1, 5);
	json_auto_t *attrs = json_pack("{s:i}", "user_data", g_rand_int_range(rand, 0, 3));
	json_auto_t *input = json_object();
	json_auto_t *members = json_array();
	for (int i = first; i < MIN(first + n, ADDRESSES); i++) {
		g_autofree char *address = rg_address_format("aws.instance", "train", i);
		if (!rg_resource_set_find(snapshot->recorded, address))
			json_array_append_new(members, member_new(f, address, attrs));
	}
	RgJournalRow row = {.run = f->run,
		.kind = f->lineage,
		.token = f->run,
		.input = input,
		.members = members,
		.started_s = 1};
	int64_t id;
	size_t i;
	const json_t *member;
	if (json_array_size(members) == 0)
		return true;
	if (!rg_store_journal_open(f->store, CLUSTER, &row, &id, f->diags))
		return false;
	json_array_foreach (members, i, member) {
		g_autofree char *kind = NULL, *name = NULL;
		int64_t index;
		rg_address_parse(rg_json_str(member, "address", ""), &kind, &name, &index);
		if (!tell(fd, 'o', (int)index, rg_json_int(member, "generation", 0),
			    rg_json_int(member, "attempt", 0)))
			return false;
	}
	return true;
}

static bool remove_some(Fixture *f, const RgSnapshot *snapshot, GRand *rand, int fd)
{
	for (size_t i = 0; i < rg_resource_set_size(snapshot->recorded); i++) {
		const RgResource *resource = rg_resource_set_get(snapshot->recorded, i);
		const char *address = resource->address;
		if (resource->presence != RG_PRESENT || g_rand_int_range(rand, 0, 5) != 0)
			continue;
		if (!remove_records(f, &address, 1) ||
			!tell(fd, 'r', (int)resource->index, resource->generation, 0))
			return false;
	}
	return true;
}

static G_GNUC_NORETURN void write_until_killed(Fixture *f, guint32 seed, int fd)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
	fixture_open(f);
	for (;;) {
		g_autoptr(RgSnapshot) before = load(f);
		if (!open_some(f, before, rand, fd))
			_exit(1);
		g_autoptr(RgSnapshot) open = load(f);
		if (!settle_some(f, open, rand, fd))
			_exit(2);
		g_autoptr(RgSnapshot) settled = load(f);
		if (!remove_some(f, settled, rand, fd))
			_exit(3);
	}
}

/* What the reports say about one (address, generation, attempt). */
typedef struct {
	int64_t generation, attempt;
	char last;
} Known;

static void take_report(Known *known, const Report *report)
{
	Known *at = &known[report->address];
	if (report->what != 'r')
		at->attempt = report->attempt;
	at->generation = report->generation;
	at->last = report->what;
}

/* The state of one address must be what was reported last, or what the transaction that was running
 * when the writer died makes of it. */
static void check_address(Fixture *f, const RgSnapshot *snapshot, int number, Known *known)
{
	g_autofree char *address = rg_address_format("aws.instance", "train", number);
	const RgResource *now = rg_resource_set_find(snapshot->recorded, address);
	g_autofree char *id = cloud_id(number, known->generation);
	int64_t generation, attempt;
	g_assert_true(
		rg_store_identity(f->store, CLUSTER, address, &generation, &attempt, f->diags));
	bool pending = now && now->presence == RG_PENDING;
	bool present = now && now->presence == RG_PRESENT;
	bool same_next = generation == known->generation && attempt == known->attempt;
	bool after_made = generation == known->generation + 1 && attempt == 0;
	bool after_failed = generation == known->generation && attempt == known->attempt + 1;
	bool mine = present && g_strcmp0(now->id, id) == 0;
	bool gone = !now && g_hash_table_contains(snapshot->tombstones, id);
	switch (known->last) {
	case 'o': /* open, or settled one way */
		g_assert_true(
			(pending && same_next) || (mine && after_made) || (!now && after_failed));
		break;
	case 'c': /* recorded, or removed */
		g_assert_true(after_made && (mine || gone));
		break;
	case 'f': /* nothing, or the next try is open */
		g_assert_true(after_failed && !present);
		break;
	case 'r': /* gone, or the next one is open */
		g_assert_true(after_made && !present);
		g_assert_true(g_hash_table_contains(snapshot->tombstones, id));
		break;
	default:
		g_assert_true(!present && generation == 0 && attempt == 0);
		break;
	}
	if (pending)
		g_assert_cmpint(now->generation, ==, generation);
}

/* The next writer starts from the actual state, not from the last report. */
static void resync(const RgSnapshot *snapshot, Fixture *f, Known *known)
{
	for (int i = 0; i < ADDRESSES; i++) {
		g_autofree char *address = rg_address_format("aws.instance", "train", i);
		const RgResource *now = rg_resource_set_find(snapshot->recorded, address);
		int64_t generation, attempt;
		rg_store_identity(f->store, CLUSTER, address, &generation, &attempt, f->diags);
		if (now && now->presence == RG_PENDING)
			known[i] = (Known){generation, attempt, 'o'};
		else if (now)
			known[i] = (Known){generation - 1, 0, 'c'};
		else if (attempt > 0)
			known[i] = (Known){generation, attempt - 1, 'f'};
		else if (generation > 0)
			known[i] = (Known){generation - 1, 0, 'r'};
	}
}

static void check_file(Fixture *f)
{
	static const char whole[] = "SELECT count(*) FROM pragma_integrity_check"
				    " WHERE integrity_check = 'ok'";
	static const char orphans[] = "SELECT count(*) FROM pragma_foreign_key_check";
	static const char unused_blobs[] =
		"SELECT count(*) FROM blobs WHERE sha256 NOT IN (SELECT attrs FROM resources)"
		" AND sha256 NOT IN (SELECT attrs FROM journal_members)";
	static const char hollow_rows[] = "SELECT count(*) FROM journal"
					  " WHERE id NOT IN (SELECT journal FROM journal_members)";
	static const char doubles[] = "SELECT count(*) FROM resources r JOIN journal_members m"
				      " USING (cluster, address)";
	g_assert_cmpint(query_int(f->path, whole), ==, 1);
	g_assert_cmpint(query_int(f->path, orphans), ==, 0);
	g_assert_cmpint(query_int(f->path, unused_blobs), ==, 0);
	g_assert_cmpint(query_int(f->path, hollow_rows), ==, 0);
	g_assert_cmpint(query_int(f->path, doubles), ==, 0);
}

static void check_after_kill(Fixture *f, Known *known, int64_t *serial)
{
	/* first as `plan` would: without permission to roll back */
	g_autoptr(RgStore) reader = rg_store_open(f->path, RG_STORE_READ, f->diags);
	assert_fine(f->diags);
	g_autoptr(RgSnapshot) read = rg_store_load(reader, CLUSTER, f->diags);
	assert_fine(f->diags);
	f->store = rg_store_open(f->path, RG_STORE_WRITE, f->diags);
	assert_fine(f->diags);
	g_autoptr(RgSnapshot) snapshot = load(f);
	g_assert_cmpint(snapshot->serial, ==, read->serial);
	g_assert_cmpint(snapshot->serial, >=, *serial);
	*serial = snapshot->serial;
	for (int i = 0; i < ADDRESSES; i++)
		check_address(f, snapshot, i, &known[i]);
	resync(snapshot, f, known);
	fixture_close(f);
	check_file(f);
}

static void test_killed_writers_leave_whole_states(Fixture *f, gconstpointer unused)
{
	Known known[ADDRESSES] = {0};
	int64_t serial = 0;
	size_t reports = 0;
	g_autoptr(GRand) rand = g_rand_new_with_seed(SEED);
	fixture_open(f);
	fixture_close(f);
	for (int i = 0; i < KILLS; i++) {
		int pipe_fds[2], status;
		g_assert_cmpint(pipe2(pipe_fds, O_CLOEXEC), ==, 0);
		guint32 seed = g_rand_int(rand);
		pid_t child = fork();
		g_assert_cmpint(child, >=, 0);
		if (child == 0)
			write_until_killed(f, seed, pipe_fds[1]);
		close(pipe_fds[1]);
		struct pollfd first = {.fd = pipe_fds[0], .events = POLLIN};
		if (i % 2 == 1) /* on a busy machine most would die before they wrote anything */
			poll(&first, 1, 10000);
		g_usleep((gulong)g_rand_int_range(rand, 500, 40000));
		kill(child, SIGKILL);
		g_assert_cmpint(waitpid(child, &status, 0), ==, child);
		g_assert_true(WIFSIGNALED(status));
		Report report;
		for (; read(pipe_fds[0], &report, sizeof(report)) == sizeof(report); reports++)
			take_report(known, &report);
		close(pipe_fds[0]);
		check_after_kill(f, known, &serial);
	}
	g_test_message("%zu transactions reported by %d killed writers", reports, KILLS);
	g_assert_cmpuint(reports, >=, KILLS / 2);
}

/* Opens and settles pairs until it is stopped. */
static G_GNUC_NORETURN void write_pairs(Fixture *f)
{
	fixture_open(f);
	for (int64_t i = 0; i < 150; i++) {
		int64_t row = open_batch(f, 2 * i, 2);
		g_autofree char *a = rg_address_format("aws.instance", "train", 2 * i);
		g_autofree char *b = rg_address_format("aws.instance", "train", 2 * i + 1);
		const RgMemberOutcome both[] = {{.address = a, .created = true, .id = a},
			{.address = b, .created = true, .id = b}};
		if (row == 0 || !rg_store_journal_settle(f->store, CLUSTER, row, both, 2, f->diags))
			_exit(1);
	}
	fixture_close(f);
	_exit(0);
}

static void test_readers_see_whole_transactions(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	fixture_close(f);
	pid_t child = fork();
	g_assert_cmpint(child, >=, 0);
	if (child == 0)
		write_pairs(f);
	f->store = rg_store_open(f->path, RG_STORE_READ, f->diags);
	assert_fine(f->diags);
	int status = -1;
	int64_t serial = 0;
	size_t sizes = 0, last = 0;
	while (waitpid(child, &status, WNOHANG) == 0) {
		g_autoptr(RgSnapshot) snapshot = load(f);
		size_t size = rg_resource_set_size(snapshot->recorded);
		g_assert_cmpuint(size % 2, ==, 0);
		g_assert_cmpint(snapshot->serial, >=, serial);
		sizes += size != last;
		last = size;
		serial = snapshot->serial;
	}
	g_assert_cmpint(status, ==, 0);
	/* how far they overlap depends on the scheduler */
	g_test_message("%zu different sizes seen while it was written", sizes);
	g_autoptr(RgSnapshot) end = load(f);
	g_assert_cmpuint(rg_resource_set_size(end->recorded), ==, 300);
}

#define ADD(path, function)                                                                        \
	g_test_add("/state/crash/" path, Fixture, NULL, fixture_up, function, fixture_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("killed-writers-leave-whole-states", test_killed_writers_leave_whole_states);
	ADD("readers-see-whole-transactions", test_readers_see_whole_transactions);
	return g_test_run();
}
