/* The user data of a machine that raygpu made, in the form of raygpu's src/boot/README.md, which is
 * a contract here: this code shares nothing with what raygpu writes. */
#pragma once
#include <glib.h>
#include <jansson.h>

/* The cloud-config, also one in gzip; NULL: it is none, or not one in JSON. A new reference. */
json_t *rg_sim_user_config(const void *user_data, gsize len);
/* The file that it writes to the path; NULL: none. Borrowed. */
const json_t *rg_sim_user_file(const json_t *config, const char *path);
