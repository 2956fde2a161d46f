/* Which hosts are this machine: credentials may go to them unencrypted, and tests choose short
 * waits for them. One function for the program and, linked statically, for the provider modules. It
 * has no state. */
#pragma once

#include <stdbool.h>

/* Whether a host, as GUri returns it, is "localhost" or an address of 127.0.0.0/8, ::1 or
 * ::ffff:127.0.0.0/104 (RFC 1122, RFC 4291). It never asks a name server: "127.example" and "127.1"
 * are names. */
bool rg_is_loopback(const char *host);

/* The same of a URL's host; false if it has none. */
bool rg_is_loopback_url(const char *url);
