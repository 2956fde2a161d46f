#include "apply/internal.h"
#include "base/clock.h"
#include <pthread.h>
#include <time.h>

struct Jobs {
	RgProvider *provider;
	pthread_mutex_t mutex;
	pthread_cond_t wake, finished;
	GQueue todo, done; /* Job* */
	bool closing;
	pthread_t *threads;
	unsigned n_threads;
};

Job *job_new(JobKind kind, json_t *input, GPtrArray *steps)
{
	Job *job = g_new0(Job, 1);
	job->kind = kind;
	job->input = input;
	job->steps = steps ? g_ptr_array_ref(steps) : NULL;
	job->diags = rg_diags_new();
	return job;
}

void job_free(Job *job)
{
	if (!job)
		return;
	json_decref(job->input);
	g_clear_pointer(&job->steps, g_ptr_array_unref);
	g_clear_pointer(&job->results, g_ptr_array_unref);
	g_clear_pointer(&job->found, g_ptr_array_unref);
	rg_diags_free(job->diags);
	g_free(job);
}

static void take_found(void *data, RgResource *resource)
{
	g_ptr_array_add(data, resource);
}

/* A module without `find` lists the resources with our lineage. Those whose token is not reported
 * are kept: search.c matches them by their addresses. What cannot be read may be any of them. */
static bool is_of_token(const RgResource *seen, const char *token)
{
	if (seen->token)
		return g_str_equal(seen->token, token);
	return seen->address || (seen->presence == RG_UNKNOWN && !seen->lineage);
}

static bool list_by_token(RgProvider *provider, Job *job, const json_t *marks)
{
	const RgJournalRow *row = job->recovery->row;
	const char *lineage = rg_json_str(marks, "lineage", NULL);
	const char *const kinds[] = {row->kind, NULL};
	const RgListing listing = {
		.kinds = kinds, .cluster = rg_json_str(marks, "cluster", ""), .lineage = lineage};
	if (!lineage || !rg_provider_list(provider, &listing, take_found, job->found, job->diags))
		return false;
	for (guint i = job->found->len; i > 0; i--) {
		const RgResource *seen = job->found->pdata[i - 1];
		if (!is_of_token(seen, row->token))
			g_ptr_array_remove_index(job->found, i - 1);
	}
	return true;
}

static void run_find(RgProvider *provider, Job *job)
{
	const RgJournalRow *row = job->recovery->row;
	const json_t *marks = json_object_get(row->input, "marks");
	job->found = g_ptr_array_new_with_free_func((GDestroyNotify)rg_resource_free);
	if (rg_provider_offers(provider, "find"))
		job->found_all = rg_provider_find(
			provider, row->kind, row->token, marks, take_found, job->found, job->diags);
	else
		job->found_all = list_by_token(provider, job, marks);
}

static void run_job(RgProvider *provider, Job *job)
{
	switch (job->kind) {
	case JOB_CREATE:
		job->results = rg_provider_create(provider, job->input, job->diags);
		break;
	case JOB_READY:
		job->results = rg_provider_ready(provider, job->input, job->diags);
		break;
	case JOB_UPDATE:
		job->results = rg_provider_update(provider, job->input, job->diags);
		break;
	case JOB_REMOVE:
		job->results = rg_provider_remove(provider, job->input, job->diags);
		break;
	case JOB_FIND:
		run_find(provider, job);
		break;
	}
}

static void *worker(void *data)
{
	Jobs *jobs = data;
	pthread_mutex_lock(&jobs->mutex);
	for (;;) {
		while (!jobs->closing && g_queue_is_empty(&jobs->todo))
			pthread_cond_wait(&jobs->wake, &jobs->mutex);
		if (g_queue_is_empty(&jobs->todo))
			break;
		Job *job = g_queue_pop_head(&jobs->todo);
		pthread_mutex_unlock(&jobs->mutex);
		run_job(jobs->provider, job);
		pthread_mutex_lock(&jobs->mutex);
		g_queue_push_tail(&jobs->done, job);
		pthread_cond_signal(&jobs->finished);
	}
	pthread_mutex_unlock(&jobs->mutex);
	return NULL;
}

Jobs *jobs_new(RgProvider *provider, unsigned threads)
{
	Jobs *jobs = g_new0(Jobs, 1);
	jobs->provider = provider;
	pthread_mutex_init(&jobs->mutex, NULL);
	pthread_cond_init(&jobs->wake, NULL);
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&jobs->finished, &attributes);
	pthread_condattr_destroy(&attributes);
	g_queue_init(&jobs->todo);
	g_queue_init(&jobs->done);
	jobs->threads = g_new0(pthread_t, threads);
	while (jobs->n_threads < threads &&
		pthread_create(&jobs->threads[jobs->n_threads], NULL, worker, jobs) == 0)
		jobs->n_threads++;
	return jobs;
}

void jobs_free(Jobs *jobs)
{
	pthread_mutex_lock(&jobs->mutex);
	jobs->closing = true;
	pthread_cond_broadcast(&jobs->wake);
	pthread_mutex_unlock(&jobs->mutex);
	for (unsigned i = 0; i < jobs->n_threads; i++)
		pthread_join(jobs->threads[i], NULL);
	g_queue_clear_full(&jobs->todo, (GDestroyNotify)job_free);
	g_queue_clear_full(&jobs->done, (GDestroyNotify)job_free);
	pthread_cond_destroy(&jobs->wake);
	pthread_cond_destroy(&jobs->finished);
	pthread_mutex_destroy(&jobs->mutex);
	g_free(jobs->threads);
	g_free(jobs);
}

void jobs_submit(Apply *apply, Job *job)
{
	Jobs *jobs = apply->jobs;
	job->started_ms = rg_clock_monotonic_ms();
	apply->running++;
	apply->looking += !!job->poll;
	/* without a single thread the system is in trouble, but what is open must still end */
	if (!jobs->n_threads)
		run_job(jobs->provider, job);
	pthread_mutex_lock(&jobs->mutex);
	g_queue_push_tail(jobs->n_threads ? &jobs->todo : &jobs->done, job);
	pthread_cond_signal(&jobs->wake);
	pthread_mutex_unlock(&jobs->mutex);
}

Job *jobs_take(Apply *apply, unsigned wait_ms)
{
	Jobs *jobs = apply->jobs;
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += wait_ms / 1000;
	until.tv_nsec += (long)(wait_ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&jobs->mutex);
	while (wait_ms && g_queue_is_empty(&jobs->done) &&
		pthread_cond_timedwait(&jobs->finished, &jobs->mutex, &until) == 0)
		;
	Job *job = g_queue_pop_head(&jobs->done);
	pthread_mutex_unlock(&jobs->mutex);
	if (job) {
		apply->running--;
		apply->looking -= !!job->poll;
	}
	return job;
}

unsigned jobs_free_slots(const Apply *apply)
{
	unsigned limit = apply->options->parallelism ? apply->options->parallelism : 10;
	unsigned busy = apply->running - apply->looking;
	return busy < limit ? limit - busy : 0;
}
