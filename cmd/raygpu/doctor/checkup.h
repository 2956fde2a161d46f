/* The checks of `raygpu doctor`. Each looks at one area, reads only, and adds lines to the report.
 * Private to doctor*.c and bundle*.c, main thread. */
#pragma once
#include "command.h"
#include "pipeline/pass.h"
#include <pthread.h>

/* What the requests of all checks met; any thread. */
typedef struct {
	pthread_mutex_t lock;
	GHashTable *servers; /* char* "https://host" -> DoctorServer* */
	bool dated;	     /* a server sent its time */
	int64_t skew_s;	     /* then: that minus ours, of the last answer */
} DoctorSeen;

typedef struct {
	Context *context;
	const char *spec; /* NULL: none */
	char *cluster;	  /* of the spec; NULL: unknown */
	json_t *checks;	  /* array: schemas/doctor.schema.json */
	json_t *skipped;  /* array: areas that could not be checked, and why */
	GHashTable *told; /* char*: findings of several checks appear once */
	int exit_code;	  /* of the first error */
	json_t *plan;	  /* that was made; NULL: none */
	size_t tested;	  /* permissions, all of them granted or in the report; 0: none */
	DoctorSeen seen;
} Doctor;

/* doctor_report.c */
void doctor_init(Doctor *doctor, Context *context, const char *spec);
void doctor_clear(Doctor *doctor);
void doctor_ok(Doctor *doctor, const char *area, const char *format, ...) G_GNUC_PRINTF(3, 4);
/* Errors and warnings become lines; false if there was one. */
bool doctor_take(Doctor *doctor, const char *area, const RgDiags *found);
/* The same in the areas that the codes name; `area` is that of all other codes. */
bool doctor_take_by_code(Doctor *doctor, const char *area, const RgDiags *found);
/* Whether it has an error or a warning. */
bool doctor_has_findings(const Doctor *doctor, const char *area);
void doctor_skip(Doctor *doctor, const char *reason, const char *const *areas);
json_t *doctor_document(const Doctor *doctor);

/* All checks, in their order. */
void doctor_examine(Doctor *doctor);

/* doctor_system.c */
void doctor_check_versions(Doctor *doctor);
void doctor_check_proxies(Doctor *doctor);
/* `provider`: of the spec, NULL: unknown; false: its module was refused. */
bool doctor_check_modules(Doctor *doctor, const char *provider);
void doctor_check_git(Doctor *doctor);
/* Whether `raygpu connect` can reach the head of the spec's cluster, once it exists. */
void doctor_check_connect(Doctor *doctor, const RgCluster *cluster);
/* doctor_state.c: opens the state; false: it cannot be read */
bool doctor_check_state(Doctor *doctor);
/* doctor_cloud.c */
/* The pass: of a spec that was loaded, or NULL: each cluster of the state. */
void doctor_check_clouds(Doctor *doctor, RgPass *pass);
