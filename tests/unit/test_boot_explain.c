/* Which fields of the spec differ between two user data, and what may not be shown of them. */
#include "boot/boot.h"
#include <string.h>

#define HEAD "#cloud-config\n{\"write_files\": [\n"

/* User data as render.c writes it, from pieces of its files. */
static json_t *user_data(const char *env, const char *conf, const char *script)
{
	json_auto_t *files = json_pack("[{s:s, s:s}, {s:s, s:s}, {s:s, s:s}]", "path",
		"/etc/raygpu/ray.env", "content", env, "path", "/etc/raygpu/node.conf", "content",
		conf, "path", "/usr/local/lib/raygpu/start-ray", "content", script);
	char *list = json_dumps(files, 0);
	g_autofree char *rest = g_strdup_printf("\"},\n%s}", list + 1);
	json_t *join = json_pack("{s:[s, {s:s, s:s}, s]}", "$join",
		HEAD "{\"path\": \"/etc/raygpu/token\", \"content\": \"", "$ref",
		"raygpu.secret.ray_token", "attr", "value", rest);
	free(list);
	return join;
}

static char *explained(json_t *before, json_t *after)
{
	json_auto_t *list = rg_boot_explain(before, after);
	char *text = list ? json_dumps(list, JSON_SORT_KEYS | JSON_COMPACT) : NULL;
	char *copy = g_strdup(text);
	free(text);
	json_decref(before);
	json_decref(after);
	return copy;
}

#define CONF(image, list, args)                                                                    \
	"image='" image "'\nauth='token'\ngpus=1\ncontainer_args=(\n" list ")\nray_args=(\n" args  \
	"  --block\n)\n"

static void test_fields(void)
{
	g_autofree char *text =
		explained(user_data("A=1\nB=x\nRAY_NODE_TYPE_NAME=a\n",
				  CONF("ray:1", "",
					  "  '--resources={\"old\":1,\"accelerator_type:T4\":1}'\n"
					  "  '--labels=disk=ssd,ray.io/node-group=a'\n"),
				  "one"),
			user_data("A=2\nC=y\nRAY_NODE_TYPE_NAME=b\n",
				CONF("ray:2", "",
					"  '--resources={\"accelerator_type:T4\":1}'\n"
					"  '--labels=disk=hdd,raygpu.io/time-slices=4'\n"),
				"two"));
	g_assert_cmpstr(text, ==,
		"[{\"change\":\"changed\",\"field\":\"/usr/local/lib/raygpu/"
		"start-ray\",\"hidden\":true},"
		"{\"change\":\"changed\",\"field\":\"env.A\",\"hidden\":true},"
		"{\"change\":\"removed\",\"field\":\"env.B\",\"hidden\":true},"
		"{\"change\":\"added\",\"field\":\"env.C\",\"hidden\":true},"
		"{\"after\":\"hdd\",\"before\":\"ssd\",\"change\":\"changed\",\"field\":\"labels."
		"disk\"},"
		"{\"after\":\"ray:2\",\"before\":\"ray:1\",\"change\":\"changed\",\"field\":\"ray."
		"image\"},"
		"{\"before\":1,\"change\":\"removed\",\"field\":\"resources.old\"},"
		"{\"after\":\"4\",\"change\":\"added\",\"field\":\"share.time_slices\"}]");
}

/* As the spec has them, not in the bytes of `ray start`. */
static void test_options(void)
{
	g_autofree char *text = explained(
		user_data("", CONF("i", "", "  '--num-cpus=0'\n  '--memory=2147483648'\n"), "s"),
		user_data("",
			CONF("i", "",
				"  '--memory=3221225472'\n  '--object-store-memory=1073741824'\n"
				"  '--system-config={\"a\":1}'\n"),
			"s"));
	g_assert_cmpstr(text, ==,
		"[{\"before\":\"0\",\"change\":\"removed\",\"field\":\"num_cpus\"},"
		"{\"after\":\"3GiB\",\"before\":\"2GiB\",\"change\":\"changed\",\"field\":"
		"\"ray_start.memory\"},"
		"{\"after\":\"1GiB\",\"change\":\"added\",\"field\":"
		"\"ray_start.object_store_memory\"},"
		"{\"after\":\"{\\\"a\\\":1}\",\"change\":\"added\",\"field\":"
		"\"ray_start.system_config\"}]");
}

static void test_health(void)
{
	g_autofree char *text = explained(user_data("", "gate=true\ndiag=1\nnvlink=1\n", "s"),
		user_data("", "diag=2\n", "s"));
	g_assert_cmpstr(text, ==,
		"[{\"after\":\"2\",\"before\":\"1\",\"change\":\"changed\",\"field\":\"health."
		"diag\"},"
		"{\"before\":\"true\",\"change\":\"removed\",\"field\":\"health.gate\"}]");
}

/* Commands may hold secrets; mounts are named. */
static void test_commands_and_mounts(void)
{
	g_autofree char *text =
		explained(user_data("", "setup_commands=(\n  'a'\n  'b c'\n)\nmounts=(\n)\n", "s"),
			user_data("",
				"initialization_commands=(\n  'x'\n)\nsetup_commands=(\n  'a'\n)\n"
				"mounts=(\n  '/mnt/d'\n  'h:/'\n  'nfs4'\n  'ro'\n)\n",
				"s"));
	g_assert_cmpstr(text, ==,
		"[{\"change\":\"added\",\"field\":\"initialization_commands\",\"hidden\":true},"
		"{\"after\":\"/mnt/d h:/ nfs4 ro\",\"change\":\"added\",\"field\":\"mounts\"},"
		"{\"change\":\"changed\",\"field\":\"setup_commands\",\"hidden\":true}]");
}

/* A value of several lines becomes an argument; it may look like anything. */
static void test_values_of_several_lines(void)
{
	g_autofree char *text =
		explained(user_data("", CONF("i", "  '--env'\n  'KEY=a\nimage=x\n)'\n", ""), "s"),
			user_data("", CONF("i", "  '--env'\n  'KEY=b\nimage=y\n)'\n", ""), "s"));
	g_assert_cmpstr(
		text, ==, "[{\"change\":\"changed\",\"field\":\"env.KEY\",\"hidden\":true}]");
	g_autofree char *lists =
		explained(user_data("", CONF("i", "  '--env'\n  'A=('\n", ""), "s"),
			user_data("", CONF("j", "  '--env'\n  'A=('\n", ""), "s"));
	g_assert_nonnull(strstr(lists, "\"field\":\"ray.image\""));
	g_assert_null(strstr(lists, "env."));
}

static void test_compressed_and_foreign(void)
{
	json_t *plain = user_data("A=1\n", "", "s"), *packed = user_data("A=2\n", "", "s");
	g_autofree char *text = explained(plain, json_pack("{s:o}", "$gzip_base64", packed));
	g_assert_nonnull(strstr(text, "env.A"));
	static const char *const foreign[] = {"", "#!/bin/sh\n", HEAD, "#cloud-config\n[]", "aGk="};
	for (size_t i = 0; i < G_N_ELEMENTS(foreign); i++) {
		g_autofree char *none = explained(json_string(foreign[i]), user_data("", "", "s"));
		g_assert_null(none);
	}
	g_autofree char *number = explained(json_integer(1), user_data("", "", "s"));
	g_assert_null(number);
}

static bool is_same(json_t *before, json_t *after)
{
	bool same = rg_boot_is_same_node(before, after);
	json_decref(before);
	json_decref(after);
	return same;
}

static void test_other_version(void)
{
	const char *conf = CONF("ray:1", "", "");
	g_assert_true(is_same(user_data("A=1\n", conf, "one"), user_data("A=1\n", conf, "two")));
	g_assert_false(is_same(user_data("A=1\n", conf, "one"), user_data("A=2\n", conf, "one")));
	g_assert_false(is_same(
		user_data("A=1\n", conf, "one"), user_data("A=1\n", CONF("ray:2", "", ""), "one")));
	g_assert_false(is_same(user_data("A=1\n", conf, "one"), json_string("#!/bin/sh\n")));
	g_assert_false(is_same(json_null(), user_data("A=1\n", conf, "one")));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/explain/fields", test_fields);
	g_test_add_func("/explain/other_version", test_other_version);
	g_test_add_func("/explain/options", test_options);
	g_test_add_func("/explain/health", test_health);
	g_test_add_func("/explain/commands-and-mounts", test_commands_and_mounts);
	g_test_add_func("/explain/several-lines", test_values_of_several_lines);
	g_test_add_func("/explain/compressed-and-foreign", test_compressed_and_foreign);
	return g_test_run();
}
