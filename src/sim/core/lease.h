/* What a machine that raygpu made does about its lease, in the form of raygpu's src/boot/README.md
 * ("The lease"), which is a contract here: this code shares nothing with what raygpu writes. */
#pragma once
#include <glib.h>
#include <stdbool.h>

/* Does the user data, a cloud-config or one in gzip, start the service that looks at the lease, and
 * does the cloud's fragment read it from this path of the metadata service? */
bool rg_sim_lease_is_watched(const void *user_data, gsize len, const char *path);
/* The time at which the machine notices that its lease is over: the end (Unix ms), but not before
 * its next look. 0: the text is not a time as raygpu writes it. */
gint64 rg_sim_lease_end_ms(const char *text, gint64 now_ms);
