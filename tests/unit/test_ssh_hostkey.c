/* A host key that has changed, in the words of ssh and ssh-keygen. */
#include "ssh/hostkey.h"

static const char errors[] =
	"@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\r\n"
	"The fingerprint for the ED25519 key sent by the remote host is\r\n"
	"SHA256:abc/DEF+1.\r\n"
	"Add correct host key in /home/x/.ssh/known_hosts to get rid of this message.\r\n"
	"Offending ED25519 key in /home/x/.ssh/known_hosts:3\r\n"
	"Host key for [gpu01]:2222 has changed and you have requested strict checking.\r\n"
	"Host key verification failed.\r\n";

static void the_known_key_is_the_one_of_the_line(void)
{
	g_auto(SshKnownKey) key = {0};
	g_assert_true(ssh_known_key_read(&key, errors));
	g_assert_cmpstr(key.name, ==, "[gpu01]:2222");
	g_assert_cmpstr(key.file, ==, "/home/x/.ssh/known_hosts");
	g_assert_cmpstr(key.line, ==, "3");
	g_autofree char *print = ssh_known_key_print(&key,
		"# Host [gpu01]:2222 found: line 13 \n[gpu01]:2222 ED25519 SHA256:other\n"
		"# Host [gpu01]:2222 found: line 3 \n[gpu01]:2222 ED25519 SHA256:ours\n");
	g_assert_cmpstr(print, ==, "SHA256:ours");
	g_assert_null(ssh_known_key_print(&key, "# Host x found: line 31 \nx RSA SHA256:a\n"));
	g_assert_null(ssh_known_key_print(&key, ""));
}

static void the_key_that_is_shown(void)
{
	g_autofree char *print = ssh_shown_key_print(errors);
	g_assert_cmpstr(print, ==, "SHA256:abc/DEF+1");
	g_assert_null(ssh_shown_key_print("Host key verification failed.\n"));
}

static void other_errors_are_not_about_a_key(void)
{
	static const char *const others[] = {"", "Host key for gpu01 has changed\n",
		"REMOTE HOST IDENTIFICATION HAS CHANGED\nHost key for gpu01 has changed\n",
		("REMOTE HOST IDENTIFICATION HAS CHANGED\nHost key for a has changed\n"
		 "Offending RSA key in known_hosts:3\n")};
	for (gsize i = 0; i < G_N_ELEMENTS(others); i++) {
		g_auto(SshKnownKey) key = {0};
		g_assert_false(ssh_known_key_read(&key, others[i]));
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ssh/hostkey/known", the_known_key_is_the_one_of_the_line);
	g_test_add_func("/ssh/hostkey/shown", the_key_that_is_shown);
	g_test_add_func("/ssh/hostkey/others", other_errors_are_not_about_a_key);
	return g_test_run();
}
