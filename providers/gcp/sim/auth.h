/* Access tokens and signed assertions of the simulated Google services. */
#pragma once
#include "gcp/sim/gce.h"

/* The server's clock, with its knob. */
gint64 gce_clock_s(const RgSim *sim);
/* g_free it. */
char *gce_token_mint(const RgSim *sim, const char *principal, gint64 life_s);
/* The claims of an RS256 token whose issuer has a public key in `keys` ({issuer: PEM}), within its
 * time; NULL and *problem (static). */
json_t *gce_jwt_read(const RgSim *sim, const char *text, const json_t *keys, const char **problem);
