/* Capacity reservations and Capacity Blocks: what a spec's reservations are, and which blocks are
 * offered. */
#pragma once
#include "aws/ec2.h"

/* `wanted`: resolve's "reservations". Adds the facts of the same name. */
rgp_status aws_reservations_read(const AwsCall *call, const json_t *wanted, json_t *facts);
/* The call of the same name: offerings of Capacity Blocks. */
rgp_status aws_blocks(const AwsCall *call, const json_t *input);
