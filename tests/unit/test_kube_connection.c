/* kubeconfig files, in kubectl's order and with its rules, up to the request that reaches a server:
 * each form of tests/data/kubernetes/kubeconfig.samples.yaml, plug-ins as real programs, refusals.
 */
#include <glib/gstdio.h>
#include <string.h>
#include "aws_host.h"
#include "http_server.h"
#include "kubernetes/call.h"
#include "kubernetes/document.h"

typedef struct {
	struct rgp_call *call;
	ModTalk talk;
	KubeConfig config;
	char *folder; /* of real files: plug-ins */
} Fixture;

static void set_up(Fixture *f, gconstpointer data)
{
	f->call = aws_test_call_new();
	f->talk = (ModTalk){&aws_test_host, f->call};
	f->folder = g_dir_make_tmp("kube-XXXXXX", NULL);
	g_hash_table_insert(f->call->env, g_strdup("HOME"), g_strdup(f->folder));
}

static void tear_down(Fixture *f, gconstpointer data)
{
	const char *name;
	GDir *dir = g_dir_open(f->folder, 0, NULL);
	while ((name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(f->folder, name, NULL);
		g_unlink(path);
	}
	g_dir_close(dir);
	g_rmdir(f->folder);
	g_free(f->folder);
	kube_config_clear(&f->config);
	aws_test_call_free(f->call);
}

static void put(Fixture *f, const char *path, const char *text)
{
	g_hash_table_insert(f->call->files, g_strdup(path), g_strdup(text));
}

static void set_env(Fixture *f, const char *name, const char *value)
{
	g_hash_table_insert(f->call->env, g_strdup(name), g_strdup(value));
}

static rgp_status find(Fixture *f, const char *settings)
{
	g_autofree char *text = g_strdelimit(g_strdup(settings), "'", '"');
	json_auto_t *value = json_loads(text, 0, NULL);
	kube_config_clear(&f->config);
	aws_test_call_reset(f->call);
	return kube_config_find(&f->talk, value, &f->config);
}

static const char *said(Fixture *f)
{
	return aws_test_said(f->call, 0, "summary");
}

static void expect_said(Fixture *f, const char *part)
{
	if (!strstr(said(f), part))
		g_error("\"%s\" is not in \"%s\"", part, said(f));
}

/* One file with a context that names a cluster and a user of it. */
#define CONFIG(cluster, user)                                                                      \
	"current-context: c\nclusters: [{name: c, cluster: {" cluster "}}]\n"                      \
	"users: [{name: u, user: {" user "}}]\n"                                                   \
	"contexts: [{name: c, context: {cluster: c, user: u}}]\n"

/* As kubectl: relative to the working directory; a file in a list too. */
static void test_relative_path(Fixture *f, gconstpointer data)
{
	g_autofree char *here = g_canonicalize_filename("k/config", NULL);
	put(f, here, CONFIG("server: 'https://127.0.0.1:1'", "token: t"));
	const char *const names[] = {"k/config", "./k/config", "k/../k/config", "missing:k/config"};
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		set_env(f, "KUBECONFIG", names[i]);
		g_assert_cmpint(find(f, "{}"), ==, RGP_OK);
		g_assert_cmpstr(f->config.server, ==, "https://127.0.0.1:1");
		g_assert_true(g_str_has_suffix(f->config.source, here));
	}
}

/* ---- the samples */

static void put_samples(Fixture *f, const char *cluster, const char *user)
{
	g_autofree char *path = g_test_build_filename(G_TEST_DIST, "kubeconfig.samples.yaml", NULL);
	g_autofree char *text = NULL;
	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	g_autofree char *whole =
		g_strdup_printf("%s---\n", text); /* a second, empty document is not read */
	put(f, "/k/samples", whole);
	g_autofree char *chosen = g_strdup_printf(
		"current-context: x\ncontexts: [{name: x, context: {cluster: %s, user: %s}}]\n",
		cluster, user);
	put(f, "/k/chosen", chosen);
	put(f, "/k/ca.crt", "CA of the file");
	put(f, "/k/admin.crt", "CERT of the file");
	put(f, "/k/admin.key", "KEY of the file");
	set_env(f, "KUBECONFIG", "/k/chosen:/k/missing:/k/samples");
}

static rgp_status find_sample(Fixture *f, const char *cluster, const char *user)
{
	put_samples(f, cluster, user);
	return find(f, "{}");
}

static void expect_connection(Fixture *f, const char *member, const char *value)
{
	g_assert_cmpstr(mod_str(f->config.connection, member), ==, value);
}

static void test_sample_clusters(Fixture *f, gconstpointer data)
{
	put_samples(f, "x", "x");
	g_assert_cmpint(find(f, "{'context': 'token'}"), ==, RGP_OK);
	g_assert_cmpstr(f->config.namespace, ==, "ray");
	g_assert_cmpstr(f->config.server, ==, "https://127.0.0.1:6443");
	expect_connection(f, "ca_pem", "-----BEGIN...");
	expect_connection(f, "server_name", "kubernetes");
	g_assert_cmpint(find(f, "{'context': 'token', 'namespace': 'mine'}"), ==, RGP_OK);
	g_assert_cmpstr(f->config.namespace, ==, "mine");
	g_assert_cmpint(find_sample(f, "c-ca-file", "token"), ==, RGP_OK);
	g_assert_cmpstr(f->config.server, ==, "https://127.0.0.1:6443/prefix");
	g_assert_cmpstr(f->config.namespace, ==, "default");
	expect_connection(f, "ca_pem", "CA of the file");
	g_assert_cmpint(find_sample(f, "c-proxy", "token"), ==, RGP_OK);
	expect_connection(f, "proxy_url", "socks5://127.0.0.1:1080");
	g_assert_cmpint(find_sample(f, "c-insecure", "token"), ==, RGP_FAIL);
	expect_said(f, "insecure-skip-tls-verify");
	g_assert_cmpint(find(f, "{'context': 'nope'}"), ==, RGP_FAIL);
	expect_said(f, "there is no context \"nope\"");
	g_assert_cmpstr(aws_test_said(f->call, 0, "hint"), ==, "the contexts are: x, token, eks");
}

/* The value of the lease; NULL: the check or the source failed. */
static json_t *sign_in(Fixture *f)
{
	KubeLogin login = {.config = &f->config};
	char *value = NULL;
	int64_t expires_s;
	aws_test_call_reset(f->call);
	rgp_status status = kube_login_check(&f->talk, &login);
	const ModLeaseSource source = kube_login_source(&login);
	if (status == RGP_OK)
		status = source.get(&f->talk, source.data, &value, &expires_s);
	json_t *lease = status == RGP_OK ? json_loads(value, 0, NULL) : NULL;
	g_free(value);
	json_decref(login.certificate);
	return lease;
}

static void expect_login(Fixture *f, const char *user, const char *pointer, const char *value)
{
	g_assert_cmpint(find_sample(f, "c-ca-file", user), ==, RGP_OK);
	json_auto_t *lease = sign_in(f);
	if (!lease)
		g_error("%s: %s", user, said(f));
	g_assert_cmpstr(json_string_value(mod_at(lease, pointer)), ==, value);
	g_assert_cmpstr(
		json_string_value(mod_at(lease, "/connection/ca_pem")), ==, "CA of the file");
}

static void test_sample_users(Fixture *f, gconstpointer data)
{
	expect_login(f, "token", "/auth/token", "abc.def.ghi");
	g_assert_cmpstr(f->call->secrets->pdata[0], ==, "abc.def.ghi");
	put(f, "/var/run/secrets/kubernetes.io/serviceaccount/token", "from.a.file\n");
	expect_login(f, "token-file", "/auth/token", "from.a.file");
	expect_login(f, "client-cert-data", "/connection/cert_pem", "-----BEGIN...");
	expect_login(f, "client-cert-data", "/connection/key_pem", "-----BEGIN...");
	expect_login(f, "client-cert-file", "/connection/key_pem", "KEY of the file");
	expect_login(f, "client-cert-file", "/auth/token", NULL);
	g_assert_cmpint(find_sample(f, "c-ca-file", "basic"), ==, RGP_OK);
	g_assert_null(sign_in(f));
	expect_said(f, "user basic has a name and a password");
	expect_login(f, "impersonate", "/auth/token", "abc");
	g_auto(GStrv) headers = kube_login_headers(&f->talk, &f->config);
	g_autofree char *joined = g_strjoinv("|", headers);
	g_assert_cmpstr(joined, ==,
		"Impersonate-User: system:serviceaccount:ray:deployer|Impersonate-Uid: 42|"
		"Impersonate-Group: system:authenticated|Impersonate-Extra-reason: x");
}

/* ---- plug-ins */

/* A program of this name in the test's folder, which is first in PATH. */
static void write_program(Fixture *f, const char *name, const char *script)
{
	g_autofree char *path = g_build_filename(f->folder, name, NULL);
	g_autofree char *text = g_strconcat("#!/bin/sh\n", script, "\n", NULL);
	g_assert_true(g_file_set_contents_full(
		path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0700, NULL));
}

#define PRINT(version, status)                                                                     \
	"echo '{\"apiVersion\": \"client.authentication.k8s.io/" version                           \
	"\", \"kind\": \"ExecCredential\", \"status\": {" status "}}'"

static void test_sample_plugins(Fixture *f, gconstpointer data)
{
	g_autofree char *path = g_strconcat(f->folder, ":", g_getenv("PATH"), NULL);
	g_setenv("PATH", path, TRUE);
	write_program(f, "aws",
		"test \"$AWS_PROFILE $1 $2\" = 'ml eks get-token' || exit 1\n"
		"case $KUBERNETES_EXEC_INFO in *cluster*) exit 2;; esac\n" PRINT("v1",
			"\"token\": \"eks-token\", \"expirationTimestamp\": "
			"\"2096-02-02T03:04:05Z\""));
	expect_login(f, "exec-eks", "/auth/token", "eks-token");
	g_autofree char *acting = kube_login_acting(&f->config);
	g_assert_cmpstr(acting, ==,
		"context x, user exec-eks, by the plug-in aws that the context x of "
		"/k/chosen:/k/samples names");
	write_program(f, "gke-gcloud-auth-plugin",
		"case $KUBERNETES_EXEC_INFO in *v1beta1*127.0.0.1:6443/prefix*"
		"certificate-authority-data*) ;; *) exit 1;; esac\n" PRINT(
			"v1beta1", "\"token\": \"gke-token\""));
	expect_login(f, "exec-gke", "/auth/token", "gke-token");
	write_program(f, "kubelogin",
		"test \"$5\" = 6dae42f8-4368-4678-94ff-3960e28e3630 || exit 1\n" PRINT("v1beta1",
			"\"clientCertificateData\": \"CERT\", \"clientKeyData\": \"KEY\""));
	expect_login(f, "exec-aks", "/connection/key_pem", "KEY");
}

/* The user's `exec` with this program's script; the problem. */
static const char *run_plugin(Fixture *f, const char *entry, const char *script)
{
	g_autofree char *path = g_build_filename(f->folder, "config", NULL);
	g_autofree char *text = g_strdup_printf(
		CONFIG("server: https://127.0.0.1:1", "exec: {command: ./plugin, %s}"), entry);
	put(f, path, text);
	set_env(f, "KUBECONFIG", path);
	write_program(f, "plugin", script);
	g_assert_cmpint(find(f, "{}"), ==, RGP_OK);
	json_auto_t *lease = sign_in(f);
	return lease ? mod_str(json_object_get(lease, "auth"), "token") : said(f);
}

#define V1 "apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never"

static void test_plugin_faults(Fixture *f, gconstpointer data)
{
	static const char *const cases[][3] = {
		{V1, PRINT("v1beta1", "\"token\": \"t\""),
			"printed client.authentication.k8s.io/v1beta1, but the kubeconfig requires "
			"client.authentication.k8s.io/v1"},
		{V1, "exit 3", "did not succeed"},
		{V1, "echo hello", "did not print an ExecCredential"},
		{V1, PRINT("v1", ""), "printed neither a token nor a client certificate"},
		{V1,
			PRINT("v1", "\"token\": \"t\", \"expirationTimestamp\": "
				    "\"2016-02-02T03:04:05Z\""),
			"printed a credential that has expired"},
		{"apiVersion: client.authentication.k8s.io/v1", "exit 0", "has no interactiveMode"},
		{"apiVersion: client.authentication.k8s.io/v1alpha1", "exit 0",
			"which raygpu does not know"},
		{"apiVersion: client.authentication.k8s.io/v1, interactiveMode: Always", "exit 0",
			"asks questions"},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		run_plugin(f, cases[i][0], cases[i][1]);
		expect_said(f, cases[i][2]);
	}
	/* relative to the folder of the kubeconfig; a hint about the installation */
	run_plugin(f, V1 ", installHint: install it", "exit 1");
	g_assert_cmpstr(aws_test_said(f->call, 0, "hint"), ==, "install it");
}

/* ---- which file */

static void test_order(Fixture *f, gconstpointer data)
{
	put(f, "~/.kube/config", CONFIG("server: https://home:1", ""));
	put(f, "/k/named", CONFIG("server: https://named:1", ""));
	put(f, "/k/first", "contexts: [{name: c, context: {cluster: d, namespace: n}}]\n");
	put(f, "/k/second",
		"current-context: c\nclusters: [{name: d, cluster: {server: 'https://second:1'}}]\n"
		"contexts: [{name: c, context: {cluster: e}}]\n");
	g_assert_cmpint(find(f, "{}"), ==, RGP_OK);
	g_assert_cmpstr(f->config.server, ==, "https://home:1");
	set_env(f, "KUBECONFIG", "/k/first::/k/second");
	g_assert_cmpint(find(f, "{}"), ==, RGP_OK);
	g_assert_cmpstr(f->config.server, ==, "https://second:1");
	g_assert_cmpstr(f->config.namespace, ==, "n");
	g_assert_cmpint(find(f, "{'kubeconfig': '/k/named'}"), ==, RGP_OK);
	g_assert_cmpstr(f->config.server, ==, "https://named:1");
	g_assert_cmpint(find(f, "{'kubeconfig': '/k/no'}"), ==, RGP_FAIL);
	expect_said(f, "/k/no: the file cannot be read");
}

static void test_pod(Fixture *f, gconstpointer data)
{
	g_assert_cmpint(find(f, "{}"), ==, RGP_FAIL);
	expect_said(f, "there is no kubeconfig");
	set_env(f, "KUBERNETES_SERVICE_HOST", "fd00::1");
	set_env(f, "KUBERNETES_SERVICE_PORT", "443");
	put(f, "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt", "CA");
	put(f, "/var/run/secrets/kubernetes.io/serviceaccount/token", "pod.token");
	put(f, "/var/run/secrets/kubernetes.io/serviceaccount/namespace", "ml\n");
	g_assert_cmpint(find(f, "{}"), ==, RGP_OK);
	g_assert_cmpstr(f->config.server, ==, "https://[fd00::1]:443");
	g_assert_cmpstr(f->config.namespace, ==, "ml");
	json_auto_t *lease = sign_in(f);
	g_assert_cmpstr(json_string_value(mod_at(lease, "/auth/token")), ==, "pod.token");
}

static void test_refusals(Fixture *f, gconstpointer data)
{
	static const char *const cases[][2] = {
		{CONFIG("server: 'http://10.0.0.1'", ""), "would get the credentials unencrypted"},
		{CONFIG("server: 'http://127.0.0.1:1', proxy-url: 'http://10.0.0.1'", ""),
			"would get the credentials unencrypted"},
		{CONFIG("server: 'http://127.evil.localhost:8001'", ""),
			"would get the credentials unencrypted"},
		{CONFIG("server: ftp://x", ""), "is not an http:// or https:// URL"},
		{CONFIG("server: https://x, certificate-authority-data: '*'", ""),
			"certificate-authority-data is not the base64"},
		{CONFIG("server: https://x, certificate-authority: no.crt", ""),
			"the certificate-authority /k/no.crt cannot be read"},
		{"a: [", "/k/c: line 2: did not find expected"},
		{"a: 1\na: 2\n", "line 2: the key is there twice"},
		{"[]", "it is not a mapping"},
		{"a: &a [*a]", "nested too deeply"},
		{"current-context: c\ncontexts: [{name: c, context: {cluster: x}}]",
			"there is no cluster \"x\""},
		{"clusters: []", "no context is current"},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		put(f, "/k/c", cases[i][0]);
		g_assert_cmpint(find(f, "{'kubeconfig': '/k/c'}"), ==, RGP_FAIL);
		expect_said(f, cases[i][1]);
	}
	static const char *const users[][2] = {
		{CONFIG("server: https://x", "auth-provider: {name: gcp}"), "auth-provider"},
		{CONFIG("server: https://x", "client-certificate-data: eA=="), "but not both"},
		{CONFIG("server: https://x", "tokenFile: t"), "/k/t cannot be read"},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(users); i++) {
		put(f, "/k/c", users[i][0]);
		g_assert_cmpint(find(f, "{'kubeconfig': '/k/c'}"), ==, RGP_OK);
		g_assert_null(sign_in(f));
		expect_said(f, users[i][1]);
	}
	put(f, "/k/c", CONFIG("server: https://x", "as-groups: [a]"));
	g_assert_cmpint(find(f, "{'kubeconfig': '/k/c'}"), ==, RGP_OK);
	g_assert_null(kube_login_headers(&f->talk, &f->config));
}

/* ---- over HTTP */

static bool has(const char *request, const char *part)
{
	return strstr(request, part) != NULL;
}

static void say_second(int fd, bool expired)
{
	test_say(fd, expired ? "410 Gone" : "200 OK", "",
		expired ? "{\"reason\": \"Expired\", \"message\": \"too old\"}"
			: "{\"items\": [2, 3], \"metadata\": {}}");
}

/* Pages, with one 410; a 401 for the first token; errors by path. */
static bool answer(int fd, unsigned n, const char *request, void *data)
{
	unsigned *lists = data;
	if (has(request, "Bearer token-1"))
		test_say(fd, "401 Unauthorized", "", "{\"reason\": \"Unauthorized\"}");
	else if (has(request, "GET /prefix/apis "))
		test_say(fd, "404 Not Found", "Content-Type: text/plain\r\n", "404 page not found");
	else if (has(request, "continue=two"))
		say_second(fd, (*lists)++ == 0);
	else if (has(request, "limit=500"))
		test_say(fd, "200 OK", "",
			"{\"items\": [1], \"metadata\": {\"continue\": \"two\"}}");
	else if (has(request, "PATCH"))
		test_say(fd, "500 Internal Server Error", "",
			"{\"kind\": \"Status\", \"code\": 500, \"message\": \"failed to create "
			"typed patch object: .spec.x: field not declared in schema\"}");
	else
		test_say(fd, "404 Not Found", "",
			"{\"reason\": \"NotFound\", \"message\": \"none\", \"details\": {\"name\": "
			"\"x\", \"kind\": \"pods\"}}");
	return true;
}

static rgp_status collect(void *data, const json_t *items)
{
	json_t *all = data;
	if (items)
		json_array_extend(all, mod_unconst(items));
	else
		json_array_clear(all);
	return RGP_OK;
}

static void expect_failure(const ModRestAnswer *answer_, const char *code, int32_t class_)
{
	g_assert_cmpstr(answer_->failure.code, ==, code);
	g_assert_cmpint(answer_->failure.class_, ==, class_);
}

static void check_calls(const KubeCall *kube, TestServer *server)
{
	json_auto_t *all = json_array();
	ModFailure failure = {0};
	g_autofree char *query = kube_selector("a", "b");
	g_autofree char *url = kube_url(kube, &kube_pods, NULL, NULL, query);
	g_assert_cmpstr(url, ==, "api/v1/namespaces/default/pods?labelSelector=a%3Db");
	g_assert_cmpint(
		kube_pages(kube, "Pod.list", url, false, collect, all, &failure), ==, RGP_OK);
	g_autofree char *text = json_dumps(all, JSON_COMPACT);
	g_assert_cmpstr(text, ==, "[1,2,3]");
	/* the 401, and twice two pages */
	g_assert_cmpuint(test_server_count(server), ==, 5);
	g_auto(ModRestAnswer) answered = {0};
	g_assert_cmpint(
		kube_read(kube, "x", "api/v1/namespaces/default/pods/x", &answered), ==, RGP_OK);
	expect_failure(&answered, "NotFound", RGP_CLASS_GONE);
	g_assert_cmpint(kube_read(kube, "x", "apis", &answered), ==, RGP_OK);
	expect_failure(&answered, "NoSuchApi", RGP_CLASS_INVALID);
	unsigned before = test_server_count(server);
	g_assert_cmpint(kube_patch(kube, "x", "y", "apply-patch", all, KUBE_CHANGES, &answered), ==,
		RGP_OK);
	expect_failure(&answered, "UndeclaredField", RGP_CLASS_INVALID);
	g_assert_cmpuint(test_server_count(server), ==, before + 1); /* not repeated */
	g_autofree char *sent = test_server_request(server, before);
	g_assert_true(has(sent, "Content-Type: application/apply-patch+yaml"));
	g_assert_true(has(sent, "Bearer token-2"));
}

/* The first credential of the plug-in is refused: it runs once more. */
static void test_calls(Fixture *f, gconstpointer data)
{
	unsigned lists = 0;
	g_autoptr(TestServer) server = test_server_new(answer, &lists);
	g_autofree char *config =
		g_strdup_printf(CONFIG("server: '%s/prefix'", "exec: {command: %s/plugin, " V1 "}"),
			test_server_url(server), f->folder);
	g_autofree char *script =
		g_strdup_printf("n=$(cat %s/n 2>/dev/null || echo 1)\n"
				"echo $((n + 1)) > %s/n\n" PRINT("v1", "\"token\": \"token-'$n'\""),
			f->folder, f->folder);
	write_program(f, "plugin", script);
	put(f, "~/.kube/config", config);
	static const char input[] = "{\"region\": \"\", \"config\": {}}";
	const struct rgp_args args = {.size = sizeof args, .input = {input, strlen(input)}};
	struct rgp_inst *inst = NULL;
	g_assert_cmpint(kube_open(&aws_test_host, f->call, &args, &inst), ==, RGP_OK);
	const KubeCall kube = {f->talk, inst};
	check_calls(&kube, server);
	kube_close(inst);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name, test) g_test_add("/kube/connection/" name, Fixture, NULL, set_up, test, tear_down)
	ADD("relative-path", test_relative_path);
	ADD("sample-clusters", test_sample_clusters);
	ADD("sample-users", test_sample_users);
	ADD("sample-plugins", test_sample_plugins);
	ADD("plugin-faults", test_plugin_faults);
	ADD("order", test_order);
	ADD("pod", test_pod);
	ADD("refusals", test_refusals);
	ADD("calls", test_calls);
	return g_test_run();
}
