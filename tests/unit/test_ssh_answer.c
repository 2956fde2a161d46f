/* What hosts answer, and why ssh failed. */
#include <string.h>
#include "ssh/answer.h"
#include "ssh/claim.h"

static struct rgp_bytes bytes(const char *text)
{
	return (struct rgp_bytes){text, strlen(text)};
}

static json_t *parse(struct rgp_bytes output)
{
	return ssh_answer_parse(output, "7f");
}

static void assert_value(const json_t *answer, const char *key, const char *value)
{
	g_assert_cmpstr(json_string_value(json_object_get(answer, key)), ==, value);
}

static void lines_with_the_mark_count(void)
{
	json_auto_t *answer = parse(bytes("Welcome to gpu01!\n"
					  "raygpu-7f: boot 1234\r\n"
					  "raygpu-7f: gpu Tesla T4, GPU-1, 550\n"
					  "raygpu-7f: gpu Tesla T4, GPU-2, 550\n"
					  "raygpu-7f: claim.address ssh.node.train[1]\n"
					  "raygpu-7f: claim /var/lib/raygpu/claims/node\n"
					  "raygpu-7f: end \n"
					  "raygpu-7f: boot 5678\n"));
	assert_value(answer, "boot", "1234");
	g_assert_cmpuint(json_array_size(json_object_get(answer, "gpu")), ==, 2);
	g_assert_true(ssh_is_claimed(answer));
	g_assert_cmpstr(ssh_claim_text(answer, "address"), ==, "ssh.node.train[1]");
	g_assert_cmpstr(ssh_claim_text(answer, "cluster"), ==, "");
}

/* A login that ends an answer, or says a part of it; without a mark, and with that of another call.
 */
static void lines_of_others_do_not_count(void)
{
	json_auto_t *answer = parse(bytes("raygpu: end\n"
					  "raygpu-7e: claim.cluster research\n"
					  "raygpu-7e: end\n"
					  " raygpu-7f: end\n"
					  "raygpu-7f: boot 1234\n"
					  "raygpu: boot 5678\n"
					  "raygpu-7f: end\n"));
	assert_value(answer, "boot", "1234");
	g_assert_cmpuint(json_object_size(answer), ==, 2);
	g_assert_null(parse(bytes("raygpu: end\nraygpu-7e: end\n")));
}

static void an_answer_without_an_end_is_none(void)
{
	g_assert_null(parse(bytes("")));
	g_assert_null(parse(bytes("raygpu-7f: boot 1234\n")));
	g_assert_null(parse((struct rgp_bytes){NULL, 0}));
}

static void a_hostile_answer_has_only_known_keys_and_printable_values(void)
{
	json_auto_t *answer = parse(bytes("raygpu-7f: boot \x1b[2J\x07\xff\xc3\xa4x\n"
					  "raygpu-7f: path /etc\n"
					  "raygpu-7f: gpu\n"
					  "raygpu-7f: end\n"));
	assert_value(answer, "boot", "[2J    x");
	g_assert_null(json_object_get(answer, "path"));
	g_assert_cmpuint(json_array_size(json_object_get(answer, "gpu")), ==, 1);
}

static void assert_address(const char *line, const char *expected)
{
	g_autofree char *text =
		g_strconcat("raygpu-7f: address ", line, "\nraygpu-7f: end\n", NULL);
	json_auto_t *answer = parse(bytes(text));
	assert_value(answer, "address", expected);
}

static void an_address_is_nothing_else(void)
{
	assert_address("10.0.0.1\r", "10.0.0.1");
	assert_address("fd00::7", "fd00::7");
	assert_address("10.0.0.1'; touch /tmp/x; : '", NULL);
	assert_address("fd00::7%'$(id)'", NULL);
	assert_address("gpu1.example.org", NULL);
	assert_address("", NULL);
}

static void a_claim_is_of_one_create(void)
{
	json_auto_t *answer = parse(bytes("raygpu-7f: claim /x\n"
					  "raygpu-7f: claim.token 0123456789abcdef\n"
					  "raygpu-7f: claim.address ssh.node.head\n"
					  "raygpu-7f: claim.cluster research\n"
					  "raygpu-7f: end\n"));
	g_assert_true(ssh_is_claim_of(answer, "0123456789abcdef", "ssh.node.head"));
	g_assert_false(ssh_is_claim_of(answer, "0123456789abcdef", "ssh.node.train[0]"));
	g_assert_false(ssh_is_claim_of(answer, "0123", "ssh.node.head"));
	g_assert_false(ssh_is_claim_of(NULL, "0123", "ssh.node.head"));
}

static bool is_sound(const char *id, const char *token)
{
	const SshHost host = {.name = (char[]){"gpu01"}};
	g_autofree char *text =
		g_strdup_printf("raygpu-7f: claim /x\nraygpu-7f: claim.token %s\n"
				"raygpu-7f: claim.id %s\nraygpu-7f: claim.cluster a\n"
				"raygpu-7f: claim.address ssh.node.head\n"
				"raygpu-7f: end\n",
			token, id);
	json_auto_t *answer = parse(bytes(text));
	return ssh_claim_is_sound(answer, &host);
}

static void a_host_cannot_pass_for_another(void)
{
	g_assert_true(is_sound("gpu01/01234567", "0123456789abcdef"));
	g_assert_false(is_sound("gpu02/01234567", "0123456789abcdef"));
	g_assert_false(is_sound("gpu01/01234568", "0123456789abcdef"));
	g_assert_false(is_sound("gpu01/", ""));
}

typedef struct {
	int32_t status;
	const char *output, *errors;
	int32_t class_;
	const char *message;
	bool has_hint;
} Case;

static void faults_have_a_class_and_a_reason(void)
{
	static const Case cases[] = {
		{255, "", "ssh: connect to host gpu01 port 22: Connection refused\r\n",
			RGP_CLASS_TRANSIENT,
			"ssh: connect to host gpu01 port 22: Connection refused", false},
		{255, "", "banner\nroot@gpu01: Permission denied (publickey).\n\n",
			RGP_CLASS_DENIED, "root@gpu01: Permission denied (publickey).", true},
		{255, "",
			"@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n"
			"The fingerprint for the ED25519 key sent by the remote host is\n"
			"SHA256:abc/DEF+1.\nHost key verification failed.\n",
			RGP_CLASS_DENIED,
			"its host key has changed; the key it shows now is SHA256:abc/DEF+1", true},
		{255, "", "No ED25519 host key is known for h1.\nHost key verification failed.\n",
			RGP_CLASS_DENIED, "Host key verification failed.", true},
		{255, "", "", RGP_CLASS_TRANSIENT, "ssh ended without a reason", false},
		{1, "", "sudo: a password is required\n", RGP_CLASS_DENIED,
			"its shell ended with status 1: sudo: a password is required", true},
		{127, "", "sh: bash: not found\n", RGP_CLASS_UNKNOWN,
			"its shell ended with status 127: sh: bash: not found", true},
		{124, "raygpu-7f: began\n", "", RGP_CLASS_TRANSIENT,
			"it did not finish within 90 s", false},
		{124, "raygpu-7e: began\n", "no\n", RGP_CLASS_UNKNOWN,
			"its shell ended with status 124: no", false},
		{255, "\n", "REMOTE HOST IDENTIFICATION HAS CHANGED\nSHA256:forged\n",
			RGP_CLASS_TRANSIENT,
			"its connection was lost, or its login ended with status 255: "
			"SHA256:forged",
			false},
		{255, "\n", "Permission denied\n", RGP_CLASS_TRANSIENT,
			"its connection was lost, or its login ended with status 255: Permission "
			"denied",
			false},
		{255, "\n", "", RGP_CLASS_TRANSIENT,
			"its connection was lost, or its login ended with status 255", false},
		{-1, "", "", RGP_CLASS_TRANSIENT, "it took too long, or wrote more than 1 MiB",
			false},
		{0, "", "", RGP_CLASS_UNKNOWN,
			"its answer is not complete: does the login start another shell?", false},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct rgp_exec_resp resp = {.size = sizeof resp,
			.status = cases[i].status,
			.output = bytes(cases[i].output),
			.errors = bytes(cases[i].errors)};
		SshFault fault = ssh_fault_of(&resp, "7f");
		g_assert_cmpint(fault.class_, ==, cases[i].class_);
		g_assert_cmpstr(fault.message, ==, cases[i].message);
		g_assert_true((fault.hint != NULL) == cases[i].has_hint);
		ssh_fault_clear(&fault);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ssh/answer/lines", lines_with_the_mark_count);
	g_test_add_func("/ssh/answer/others", lines_of_others_do_not_count);
	g_test_add_func("/ssh/answer/end", an_answer_without_an_end_is_none);
	g_test_add_func(
		"/ssh/answer/hostile", a_hostile_answer_has_only_known_keys_and_printable_values);
	g_test_add_func("/ssh/answer/address", an_address_is_nothing_else);
	g_test_add_func("/ssh/answer/claim", a_claim_is_of_one_create);
	g_test_add_func("/ssh/answer/sound", a_host_cannot_pass_for_another);
	g_test_add_func("/ssh/answer/faults", faults_have_a_class_and_a_reason);
	return g_test_run();
}
