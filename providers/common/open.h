/* What modules read when they open an instance: its region, and settings of the environment. */
#pragma once
#include "common/talk.h"

/* A region or zone can become part of a URL or host name. */
bool mod_is_region(const char *region);
/* The call's input; NULL after a diagnostic: its region is not one of the cloud ("an AWS"), such as
 * `example`. A new reference. */
json_t *mod_open_input(
	const ModTalk *talk, const struct rgp_args *args, const char *cloud, const char *example);
/* A variable of the environment, "" if it is not set. */
const char *mod_open_env(const ModTalk *talk, const char *name);
/* Does RAYGPU_ALLOW_ENDPOINTS list the URL, with or without a slash at its end? */
bool mod_open_allows(const ModTalk *talk, const char *url);
/* How long to wait until the service at the URL shows what was changed: `limit_s`, or less with
 * RAYGPU_LOOPBACK_WAIT_S, for tests, if it is this machine. */
int64_t mod_open_wait_s(const ModTalk *talk, const char *url, int64_t limit_s);
/* The `connection` of requests, with that file of certificate authorities; NULL: none is named.
 * g_free. */
char *mod_open_connection(const char *ca_file);
