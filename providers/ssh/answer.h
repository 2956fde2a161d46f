/* What a host answers: lines "raygpu-MARK: KEY VALUE" between anything else. The mark is of one
 * call, so nobody else can write such lines. A host may answer anything: only keys that are known
 * count, and values are printable ASCII. Pure. */
#pragma once
#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include "raygpu/provider.h"

/* {KEY: VALUE}; keys that may be repeated, "gpu", "runtime" and "log", are lists. NULL: it has no
 * end, so it is not complete. A new reference. */
json_t *ssh_answer_parse(struct rgp_bytes output, const char *mark);

/* Why ssh or the host's shell failed. */
typedef struct {
	int32_t class_;
	char *message;
	const char *hint; /* may be NULL */
} SshFault;

/* The last line of a program's standard error that says something, without control characters;
 * NULL: none does. g_free */
char *ssh_last_line(struct rgp_bytes errors);
void ssh_fault_clear(SshFault *fault);
/* From how ssh ended. It prints nothing on standard output itself: where there is something, the
 * connection stood. */
SshFault ssh_fault_of(const struct rgp_exec_resp *resp, const char *mark);
