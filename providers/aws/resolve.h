/* resolve: what the spec names and what it leaves open -> facts, by reading calls: images and
 * where instance types are offered (resolve.c), the network (network.c). A finding names the line
 * of the spec that it is about. */
#pragma once
#include "aws/ec2.h"

/* Sets "network" of facts: the spec's own network, checked, or the region's default one. */
rgp_status aws_resolve_network(const AwsCall *call, json_t *facts);

/* All records of a reading call, added to the array `records`; steals params. */
rgp_status aws_read_all(const AwsCall *call, const char *action, const AwsShape *shape,
	json_t *params, json_t *records);
/* A finding about the spec's value at `origin` (a JSON pointer, NULL or "": none); RGP_FAIL. */
rgp_status aws_refuse(const AwsCall *call, const char *origin, const char *hint, const char *format,
	...) G_GNUC_PRINTF(4, 5);
