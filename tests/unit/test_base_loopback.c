/* What counts as this machine: credentials may go to it unencrypted. */
#include "base/loopback.h"
#include <glib.h>

static void loopback_is_a_parsed_address_or_localhost(void)
{
	static const char *const here[] = {"localhost", "LocalHost", "127.0.0.1", "127.255.3.2",
		"::1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1"};
	static const char *const elsewhere[] = {"127.evil.example", "127.evil.localhost", "127.",
		"127.0.0.1.example.org", "localhost.example.org", "localhost.", "128.0.0.1", "::2",
		"::ffff:128.0.0.1", "127.0.0.256", "0127.0.0.1", ""};
	for (size_t i = 0; i < G_N_ELEMENTS(here); i++)
		g_assert_true(rg_is_loopback(here[i]));
	for (size_t i = 0; i < G_N_ELEMENTS(elsewhere); i++)
		g_assert_false(rg_is_loopback(elsewhere[i]));
}

static void the_host_of_a_url_decides(void)
{
	static const char *const here[] = {"http://127.0.0.1:8000/?Action=X", "https://localhost/",
		"http://[::1]:80/", "http://127.3.2.1", "http://user:pw@127.0.0.1/"};
	static const char *const elsewhere[] = {"https://ec2.us-east-1.amazonaws.com/",
		"http://127.example.org/", "http://127.evil.localhost:18666",
		"http://localhost.example.org/", "http://128.0.0.1/",
		"http://127.0.0.1@example.org/", "http://example.org/127.0.0.1", "127.0.0.1", ""};
	for (size_t i = 0; i < G_N_ELEMENTS(here); i++)
		g_assert_true(rg_is_loopback_url(here[i]));
	for (size_t i = 0; i < G_N_ELEMENTS(elsewhere); i++)
		g_assert_false(rg_is_loopback_url(elsewhere[i]));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/loopback/addresses", loopback_is_a_parsed_address_or_localhost);
	g_test_add_func("/loopback/urls", the_host_of_a_url_decides);
	return g_test_run();
}
