/* Network cards of an instance type and the EFA interfaces on them: what RunInstances checks of
 * the interfaces of a request. Facts: networkInfo of DescribeInstanceTypes (data/). */
#pragma once
#include "aws/sim/launch_form.h"

/* Every interface is on a card that the type has, with a device index that the card takes and of a
 * kind that it takes; else an error on the call. */
bool rg_sim_cards_check(RgSimCall *call, const RgSimLaunch *launch);
/* Does the interface type carry no address? */
bool rg_sim_card_is_bare(const char *interface_type);
