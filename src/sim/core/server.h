/* The HTTP(S) listener: the only file that uses libmicrohttpd. One thread per connection, kept
 * alive, so that a request that sleeps (latency) does not delay others. */
#pragma once
#include "sim/core/sim.h"

typedef struct {
	const char *address;	     /* IPv4 to listen on */
	unsigned port;		     /* 0: a free one */
	const char *tls_certificate; /* PEM texts; NULL for plain HTTP */
	const char *tls_key;
} RgSimListen;

typedef struct RgSimServer RgSimServer;

/* NULL and *problem (g_free) if it cannot listen. `sim` must outlive the server. */
RgSimServer *rg_sim_server_start(RgSim *sim, const RgSimListen *listen, char **problem);
unsigned rg_sim_server_port(const RgSimServer *server);
/* Lets requests in flight end, immediately if they sleep. */
void rg_sim_server_stop(RgSimServer *server);
