/* Debug log (RAYGPU_LOG=debug|info, to stderr or RAYGPU_LOG_PATH), for developers; users read
 * diagnostics and events instead. Redacts registered secrets (base/redact.h). Thread-safe. */
#pragma once
#include <glib.h>
#include <stdint.h>

typedef enum { RG_LOG_OFF, RG_LOG_INFO, RG_LOG_DEBUG } RgLogLevel;

/* cmd/ calls this once before threads start; fd is borrowed. */
void rg_log_init(RgLogLevel level, int fd);
RgLogLevel rg_log_level(void);
void rg_log(RgLogLevel level, const char *format, ...) G_GNUC_PRINTF(2, 3);
