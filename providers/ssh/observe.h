/* What the hosts say about themselves, shared by the calls. */
#pragma once
#include "ssh/remote.h"

/* The instance's `seen`. */
GHashTable *ssh_seen_new(void);
/* Ages of answers, in seconds, that are as good as new. What others claim meanwhile, a create finds
 * out; what this instance changes is asked again. */
#define SSH_AGE_NEW_S (-1)
#define SSH_AGE_LIST_S 5
#define SSH_AGE_STOCK_S 60

/* One SshRun for each host of the inventory, in its order, not started. */
GPtrArray *ssh_runs_of_all(const ModCall *call);
/* Each gets an answer to "probe" that is not older, or a fault. RGP_CANCELED, else RGP_OK. */
rgp_status ssh_probe(const ModCall *call, GPtrArray *runs, int64_t age_s);
/* Two hosts of the inventory that are one machine: RGP_FAIL, reported. */
rgp_status ssh_refuse_twins(const ModCall *call, const GPtrArray *runs);
/* ssh_runs_start of a function that changes the hosts. */
rgp_status ssh_runs_change(const ModCall *call, GPtrArray *runs, const char *function);
/* As many GPUs as the inventory says; one that says none may have some. */
bool ssh_has_its_gpus(const SshRun *run);
/* Of a probe: it answers, nothing has claimed it, and it has its GPUs. */
bool ssh_is_free(const SshRun *run);
/* Such a host, of the shape and in the rack of a node's attributes, with the labels that it
 * requires. */
bool ssh_may_be(const SshRun *run, const json_t *attributes);
/* SshRun*: all such hosts, those with the fewest labels first, so that others are left to pools
 * that require labels; then in the order of the inventory. Borrows the runs. */
GPtrArray *ssh_runs_that_may_be(const GPtrArray *runs, const json_t *attributes);
/* Has the host all of the labels? */
bool ssh_has_labels(const SshHost *host, const json_t *labels);
