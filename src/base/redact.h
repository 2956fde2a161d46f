/* Secrets that must never be shown. Once a secret is registered, rg_redact replaces its literal,
 * URL-encoded and base64 forms (at all three alignments) by "[redacted]" in every log line, trace
 * and diagnostic. Secrets below 8 bytes are ignored. Thread-safe. */
#pragma once
#include <glib.h>
#include <stddef.h>

void rg_redact_add(const char *secret, size_t len);
/* A copy of the text with all registered secrets replaced; g_free the result. */
char *rg_redact(const char *text, size_t len);
