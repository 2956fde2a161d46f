/* The clock of a host, compared with ours. Pure. */
#pragma once
#include <stdint.h>

/* Seconds that the host is ahead. When between the two times it answered is not known (another host
 * may have taken long): a clock between them is right. */
int64_t ssh_skew_s(const char *clock, int64_t before_s, int64_t after_s);
