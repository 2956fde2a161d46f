/* Runs functions of host.sh on hosts, concurrently, through the user's own ssh. */
#pragma once
#include "ssh/answer.h"
#include "ssh/ssh.h"

/* What to run on one host, and how that ended. */
typedef struct {
	const SshHost *host;
	char *mark;	/* of the lines of its answer */
	GString *input; /* assignments so far; NULL: none */
	json_t *answer; /* NULL: there is none, see `fault` */
	SshFault fault;
} SshRun;

/* SshRun*, with a free function. */
GPtrArray *ssh_runs_new(void);
SshRun *ssh_runs_add(GPtrArray *runs, const SshHost *host);
/* A variable of host.sh; it never becomes part of a command line. */
void ssh_run_set(SshRun *run, const char *name, const char *value);
/* RGP_CANCELED, else RGP_OK: each run has an answer or a fault. `reading`: nothing changes. */
rgp_status ssh_runs_start(const ModCall *call, GPtrArray *runs, const char *function, bool reading);
/* The fault, or what the host itself reports as failed, as the failure of an item. */
void ssh_run_fail(const SshRun *run, ModFailure *failure);
/* What failed, if anything. */
bool ssh_run_is_good(const SshRun *run);
