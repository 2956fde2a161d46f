/* What both kinds of stores elsewhere share. Private to this folder. */
#pragma once
#include "remote/remote.h"

/* 32 random hex digits; g_free. */
char *rg_remote_token(void);
/* Someone else has the lock, or has written; returns false. */
bool rg_remote_lost_lock(const char *shown, const char *cluster, RgDiags *diags);
/* A cluster is here that was not moved; returns false. */
bool rg_remote_has_more(const char *shown, RgDiags *diags);
