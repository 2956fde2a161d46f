/* What `raygpu debug-bundle` puts into its archive. Private to bundle*.c. */
#pragma once
#include "doctor/checkup.h"

typedef struct {
	char *name;	  /* in the archive */
	const char *what; /* for people */
	char *text;	  /* with secrets until bundle_redact */
} BundleFile;

typedef struct {
	GPtrArray *files;   /* BundleFile*, by name */
	GPtrArray *missing; /* char*: "plan: the spec has errors" */
} Bundle;

Bundle *bundle_new(void);
void bundle_free(Bundle *bundle);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Bundle, bundle_free)
/* `saved`: file of a plan, or NULL. Every secret that is met is registered with rg_redact_add. */
void bundle_collect(Bundle *bundle, Doctor *doctor, const char *saved);
/* After everything was collected: a secret of one file may be in another. */
void bundle_redact(Bundle *bundle);
