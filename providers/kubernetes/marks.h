/* Ownership marks: labels of an object, by which it is found, and annotations. Pure. */
#pragma once
#include <jansson.h>
#include <stdbool.h>

/* Borrowed from the object's metadata; "" if absent. */
typedef struct {
	const char *cluster, *lineage, *address, *token, *space;
} KubeMarks;

KubeMarks kube_marks_read(const json_t *object);
/* The marks of a create's input, for its only item, in the namespace. */
void kube_marks_put(json_t *object, const json_t *input, const char *space);
/* The marks that an update's item is to get. */
void kube_marks_renew(json_t *object, const json_t *item);
/* "labelSelector=..." for the objects of a cluster. g_free. */
char *kube_marks_selector(const char *cluster);
