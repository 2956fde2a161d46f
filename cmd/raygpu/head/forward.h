/* Commands that run beside a shell and forward ports to this machine. */
#pragma once
#include "command.h"
#include "reach/reach.h"

typedef struct Forward Forward;

/* Starts them and waits until each local port answers. NULL and connect.* diagnostics; then none
 * of them runs. */
Forward *forward_start(const RgReachWay *way, const RgReachAsk *ask, RgDiags *diags);
/* Runs the command in the foreground with the forwards, and gives its exit code; 128 and the
 * signal when one ended it. -1 and a diagnostic: it can't be started. */
int forward_run(const Forward *forward, char **command, char **environment, RgDiags *diags);
void forward_stop(Forward *forward);
