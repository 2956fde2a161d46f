/* resolve: what the spec names and what it leaves open -> facts, through reading calls: zones and
 * machine types (resolve.c), images (image.c), the network (network.c). All are requested
 * concurrently, after the region's zones. */
#pragma once
#include "gcp/call.h"

/* One reading request. */
typedef struct {
	char *url;
	ModRestRequest request;
	ModRestAnswer answer;
	const char *origin; /* borrowed, or NULL */
	char *about;	    /* what the asker notes */
	bool is_list;
} GcpQuestion;

typedef struct {
	const GcpCall *call;
	GPtrArray *questions; /* GcpQuestion *: owned */
} GcpAsking;

/* ask.c */
/* Steals the URL. The question is owned by the asking. */
GcpQuestion *gcp_ask(GcpAsking *asking, const char *what, char *url, const char *origin);
/* The same for a list: the answer has the items of all its pages. */
GcpQuestion *gcp_ask_list(GcpAsking *asking, const char *what, char *url, const char *origin);
/* Was it answered without a failure? Otherwise, unless what it asks for does not exist, a
 * diagnostic and RGP_FAIL. */
rgp_status gcp_answered(const GcpCall *call, const GcpQuestion *question, bool *exists);

/* The images that the nodes need. */
rgp_status gcp_images_ask(GcpAsking *asking, const json_t *wanted, GPtrArray **images);
rgp_status gcp_images_take(const GcpCall *call, const GPtrArray *images, json_t *facts);
/* The reservations that the spec names: in each zone, because a name is unique in its zone only. */
void gcp_reservations_ask(GcpAsking *asking, const json_t *wanted, const json_t *zones);
rgp_status gcp_reservations_take(const GcpCall *call, const GcpAsking *asking, guint first,
	guint end, const json_t *wanted, json_t *facts);
/* Machine types that no table has: into "types" of facts. */
rgp_status gcp_types_read(const GcpCall *call, const json_t *wanted, json_t *facts);
/* The subnetwork; sets "module" of facts. */
GcpQuestion *gcp_network_ask(GcpAsking *asking);
rgp_status gcp_network_take(const GcpCall *call, const GcpQuestion *question, json_t *facts);
