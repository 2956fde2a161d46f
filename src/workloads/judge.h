/* Inside workloads: workloads.c evaluates and reports, verdicts.c says what is wrong. */
#pragma once
#include "workloads/start.h"

/* Shared by all steps of one evaluation. */
typedef struct {
	const RgDemand *demand;
	const RgPlaceProblem *problem;
	RgPlaceProblem least; /* elastic pools at their min */
	const RgPlaced *placed;
	const RgLimits *limits;
	size_t n_limits;
	const char *only; /* the workload that is reported; NULL: each is */
	bool elastic;
	const RgStart *start;
	RgDiags *diags;
} RgJudge;

/* Whether the report is about the workload. */
bool rg_judge_reports(const RgJudge *judge, unsigned task);
/* Replicas placed with everything else. */
uint64_t rg_judge_together(const RgJudge *judge, unsigned task);
/* Whether a bundle of the task can run on the pool, and it has nodes. */
bool rg_judge_can_take(const RgJudge *judge, unsigned task, unsigned pool);
/* Replicas that fit at once if nothing else runs. */
typedef struct {
	uint64_t replicas;
	bool sure; /* false: more may fit */
} RgAlone;

/* "fits", "contended", "short", "never" or "undecided", with its finding. */
const char *rg_judge_verdict(
	const RgJudge *judge, unsigned task, RgAlone alone, const json_t *remedy);
/* A group that may run on GPUs of several models. */
void rg_judge_mixed(const RgJudge *judge, unsigned task);
/* A group that NVLink could connect, on more nodes than its GPUs need. */
void rg_judge_nvlink(const RgJudge *judge, unsigned task);
/* A workload that Ray may start on a pool where it must not run. */
void rg_judge_strays(const RgJudge *judge, unsigned task);
/* Gangs that may each hold what another waits for. */
void rg_judge_gangs(const RgJudge *judge);
