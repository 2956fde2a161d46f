#include "base/loopback.h"
#include <arpa/inet.h>
#include <glib.h>

#define LOOPBACK_NET 127

bool rg_is_loopback(const char *host)
{
	struct in_addr four;
	struct in6_addr six;
	if (inet_pton(AF_INET, host, &four) == 1)
		return ntohl(four.s_addr) >> 24 == LOOPBACK_NET;
	if (inet_pton(AF_INET6, host, &six) == 1)
		return IN6_IS_ADDR_LOOPBACK(&six) ||
		       (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == LOOPBACK_NET);
	return g_ascii_strcasecmp(host, "localhost") == 0;
}

bool rg_is_loopback_url(const char *url)
{
	g_autoptr(GUri) uri = g_uri_parse(url, G_URI_FLAGS_NONE, NULL);
	const char *host = uri ? g_uri_get_host(uri) : NULL;
	return host && rg_is_loopback(host);
}
