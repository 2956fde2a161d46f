/* reservations of a plan: whether they have room for the nodes that it creates, when they start,
 * and when they end. After the plan knows which are created. Pure. */
#pragma once
#include "spec/cluster.h"

typedef struct {
	const RgCluster *cluster; /* NULL: what is reported has no lines */
	const json_t *facts;	  /* {id: facts of `resolve`} */
	/* {id: {pool: {"nodes": recorded, "made": created, "replaced": of these, existing ones
	 * that are removed before, "freed": existing ones that leave the reservation before}}} */
	const json_t *uses;
	int64_t now_s;
	bool waits; /* apply waits for room */
} RgReservationInput;

/* Of the reservations with the id that the pool names, at most one in a zone: the one where the
 * pool may be. `fact`: of `resolve`; NULL: the pool may be where several are. */
const json_t *rg_fit_reservation_of(const json_t *fact, const RgPool *pool);
/* The one in the zone; NULL: there is none. */
const json_t *rg_fit_reservation_in(const json_t *fact, const char *zone);

/* False with plan.reservation-full or -over where nodes can't be created; -starts without replaced
 * nodes is a note, -ends and an -over without new nodes are warnings. */
bool rg_fit_check_reservations(const RgReservationInput *input, RgDiags *diags);
