#include "base/log.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/disarm.h"
#include "base/redact.h"

static struct {
	RgLogLevel level;
	int fd;
} sink = {RG_LOG_OFF, -1};

void rg_log_init(RgLogLevel level, int fd)
{
	sink.level = level;
	sink.fd = fd;
}

RgLogLevel rg_log_level(void)
{
	return sink.level;
}

/* One write per line keeps the lines of several threads whole (PIPE_BUF and O_APPEND). A failed
 * write is ignored. */
static void write_line(const char *line, size_t len)
{
	while (len > 0) {
		ssize_t n = write(sink.fd, line, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		line += n;
		len -= (size_t)n;
	}
}

void rg_log(RgLogLevel level, const char *format, ...)
{
	if (level == RG_LOG_OFF || level > sink.level || sink.fd < 0)
		return;
	va_list args;
	va_start(args, format);
	g_autofree char *message = g_strdup_vprintf(format, args);
	va_end(args);
	g_autofree char *redacted = rg_redact(message, strlen(message));
	g_autofree char *clean = rg_disarm(redacted);
	g_autofree char *now = rg_clock_format(rg_clock_now_s());
	g_strdelimit(clean, "\r\n", ' ');
	g_autofree char *line =
		g_strdup_printf("%s %s %s\n", now, level == RG_LOG_DEBUG ? "debug" : "info", clean);
	write_line(line, strlen(line));
}
