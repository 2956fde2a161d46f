/* A store that is far away answers many requests in the time of one. */
#include "remote/documents.h"
#include <stdatomic.h>

#define THREADS_MAX 8

typedef struct {
	DocEach each;
	void *data;
	guint n;
	atomic_uint next;
} Together;

static void *work(void *data)
{
	Together *together = data;
	guint i;
	while ((i = atomic_fetch_add(&together->next, 1)) < together->n)
		together->each(together->data, i);
	return NULL;
}

void doc_together(const RgRemote *remote, guint n, DocEach each, void *data)
{
	Together together = {.each = each, .data = data, .n = n};
	pthread_t threads[THREADS_MAX];
	guint started = 0, most = remote->objects->lock ? 1 : THREADS_MAX;
	atomic_init(&together.next, 0);
	while (started + 1 < MIN(n, most) &&
		pthread_create(&threads[started], NULL, work, &together) == 0)
		started++;
	work(&together);
	for (guint i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
}
