#include "sim/core/worldfile.h"
#include <time.h>
#include "sim/core/cloud.h"
#include "sim/core/world.h"

#define FORMAT 1
/* Changes within this time are written together. */
#define COALESCE_MS 10
/* The longest sleep of the thread, so that life-cycle events reach the file without requests. */
#define POLL_MS 20

struct RgSimSaver {
	RgSim *sim;
	char *path;
	pthread_t thread;
	pthread_mutex_t lock; /* guards `known`, `stop` */
	pthread_cond_t wake;
	guint64 known; /* the newest state of the world that was passed on */
	bool stop;
	pthread_mutex_t writing; /* one writer at a time; guards `written` */
	guint64 written;
};

static void append_table(GString *out, const RgSimTable *table)
{
	bool first = true;
	for (unsigned i = 0; i < table->order->len; i++) {
		const char *text = rg_sim_item_text(g_ptr_array_index(table->order, i));
		if (!text)
			continue;
		g_string_append(out, first ? "\n" : ",\n");
		g_string_append(out, text);
		first = false;
	}
}

static void append_place(GString *out, const RgSimPlace *place)
{
	const RgSimCloud *cloud = place->realm->cloud;
	g_string_append_printf(out, "\n\"%s\": {", place->name);
	for (unsigned kind = 0; kind < cloud->n_kinds; kind++) {
		g_string_append_printf(
			out, "%s\"%s\": [", kind ? "],\n" : "", cloud->kinds[kind].table);
		append_table(out, place->tables[kind]);
	}
	g_string_append(out, "]}");
}

char *rg_sim_worldfile_text(const RgSim *sim)
{
	GString *out = g_string_new(NULL);
	g_string_printf(out,
		"{\"format\": %d, \"seed\": %" G_GUINT64_FORMAT ", \"counter\": %" G_GUINT64_FORMAT,
		FORMAT, sim->seed, sim->counter);
	rg_ptr_foreach (const RgSimRealm, realm, sim->realms) {
		g_autoptr(GList) names = g_hash_table_get_keys(realm->places);
		names = g_list_sort(names, (GCompareFunc)(void (*)(void))g_strcmp0);
		g_string_append_printf(out, ", \"%s\": {", realm->cloud->section);
		for (GList *at = names; at; at = at->next) {
			append_place(out, g_hash_table_lookup(realm->places, at->data));
			g_string_append(out, at->next ? "," : "");
		}
		g_string_append_c(out, '}');
	}
	g_string_append(out, "}\n");
	return g_string_free(out, FALSE);
}

static bool load_table(RgSimPlace *place, unsigned kind, const json_t *list, char **problem)
{
	const RgSimKind *info = &place->realm->cloud->kinds[kind];
	rg_json_foreach_at (i, doc, list) {
		const char *id = doc_str(doc, info->id_member);
		if (!*id || rg_sim_find(place, kind, id)) {
			*problem = g_strdup_printf("%s: %s[%zu] has no %s of its own", place->name,
				info->table, i, info->id_member);
			return false;
		}
		rg_sim_plan_known(place, kind, doc);
		rg_sim_put(place, kind, json_incref(doc));
	}
	return true;
}

static bool load_realm(RgSimRealm *realm, const json_t *section, char **problem)
{
	rg_json_foreach_member (name, tables, section) {
		RgSimPlace *place = rg_sim_place_bare(realm, name);
		if (!place) {
			*problem =
				g_strdup_printf("%s: there is no %s", realm->cloud->section, name);
			return false;
		}
		for (unsigned kind = 0; kind < realm->cloud->n_kinds; kind++) {
			const char *table = realm->cloud->kinds[kind].table;
			if (!load_table(place, kind, json_object_get(tables, table), problem))
				return false;
		}
	}
	return true;
}

static bool load_world(RgSim *sim, const json_t *file, char **problem)
{
	json_int_t format = 0, seed = 0, counter = 0;
	if (json_unpack(rg_json_unconst(file), "{s:I, s:I, s:I}", "format", &format, "seed", &seed,
		    "counter", &counter) < 0 ||
		format != FORMAT) {
		*problem = g_strdup("not a world file of this version");
		return false;
	}
	sim->seed = (guint64)seed;
	sim->counter = (guint64)counter;
	/* What existed before the start is not new for any reader. */
	gint64 now_ms = sim->now_ms;
	sim->now_ms = 0;
	bool loaded = true;
	for (unsigned i = 0; loaded && i < sim->realms->len; i++) {
		RgSimRealm *realm = g_ptr_array_index(sim->realms, i);
		loaded = load_realm(realm, json_object_get(file, realm->cloud->section), problem);
	}
	sim->now_ms = now_ms;
	return loaded;
}

bool rg_sim_worldfile_load(RgSim *sim, const char *path, char **problem)
{
	if (!g_file_test(path, G_FILE_TEST_EXISTS))
		return true;
	json_error_t error;
	json_auto_t *file = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	g_autofree char *why = NULL;
	if (!file)
		why = g_strdup_printf("line %d: %s", error.line, error.text);
	else if (load_world(sim, file, &why))
		return true;
	*problem = g_strdup_printf("%s: %s", path, why);
	return false;
}

bool rg_sim_saver_flush(RgSimSaver *saver, char **problem)
{
	pthread_mutex_lock(&saver->writing);
	pthread_mutex_lock(&saver->sim->lock);
	rg_sim_world_enter(saver->sim);
	rg_sim_world_run(saver->sim);
	guint64 changes = saver->sim->changes;
	g_autofree char *text =
		changes != saver->written ? rg_sim_worldfile_text(saver->sim) : NULL;
	pthread_mutex_unlock(&saver->sim->lock);
	g_autoptr(GError) error = NULL;
	bool done = !text || g_file_set_contents_full(saver->path, text, -1,
				     G_FILE_SET_CONTENTS_CONSISTENT | G_FILE_SET_CONTENTS_DURABLE,
				     0600, &error);
	if (done)
		saver->written = changes;
	else if (problem)
		*problem = g_strdup(error->message);
	pthread_mutex_unlock(&saver->writing);
	return done;
}

void rg_sim_saver_wake(RgSimSaver *saver, guint64 changes)
{
	pthread_mutex_lock(&saver->lock);
	if (changes != saver->known) {
		saver->known = changes;
		pthread_cond_signal(&saver->wake);
	}
	pthread_mutex_unlock(&saver->lock);
}

static void wait_until(RgSimSaver *saver, gint64 ms)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += ms * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&saver->wake, &saver->lock, &until);
}

static void *save_on(void *data)
{
	RgSimSaver *saver = data;
	pthread_mutex_lock(&saver->lock);
	while (!saver->stop) {
		wait_until(saver, POLL_MS);
		pthread_mutex_unlock(&saver->lock);
		g_usleep(COALESCE_MS * 1000);
		/* A failure is reported to anyone who requests the world, and at the end. */
		rg_sim_saver_flush(saver, NULL);
		pthread_mutex_lock(&saver->lock);
	}
	pthread_mutex_unlock(&saver->lock);
	return NULL;
}

RgSimSaver *rg_sim_saver_start(RgSim *sim, const char *path)
{
	RgSimSaver *saver = g_new0(RgSimSaver, 1);
	saver->sim = sim;
	saver->path = g_strdup(path);
	saver->written = G_MAXUINT64; /* an empty world is written too */
	pthread_mutex_init(&saver->lock, NULL);
	pthread_mutex_init(&saver->writing, NULL);
	pthread_cond_init(&saver->wake, NULL);
	if (pthread_create(&saver->thread, NULL, save_on, saver) != 0)
		g_error("no thread for the world file");
	return saver;
}

bool rg_sim_saver_stop(RgSimSaver *saver, char **problem)
{
	pthread_mutex_lock(&saver->lock);
	saver->stop = true;
	pthread_cond_signal(&saver->wake);
	pthread_mutex_unlock(&saver->lock);
	pthread_join(saver->thread, NULL);
	bool done = rg_sim_saver_flush(saver, problem);
	pthread_cond_destroy(&saver->wake);
	pthread_mutex_destroy(&saver->lock);
	pthread_mutex_destroy(&saver->writing);
	g_free(saver->path);
	g_free(saver);
	return done;
}
