"""The recipes of src/HACKING.md, carried out: each function edits a copy of the tree as its section says. If
code that an edit depends on is gone, the test fails, and the recipe must be reviewed."""
import os


class Tree:
    def __init__(self, folder):
        self.folder = folder

    def read(self, path):
        with open(os.path.join(self.folder, path), encoding='utf-8') as f:
            return f.read()

    def write(self, path, text):
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)

    def put(self, path, place, new, before=False, every=False):
        """Adds `new` after (or before) the first, or each, `place` in a file."""
        text = self.read(path)
        assert place in text, f'{path} has no {place!r} any more'
        self.write(path, text.replace(place, new + place if before else place + new, -1 if every else 1))


class Draft(Tree):
    """The tree as an edit would leave it, in memory; `texts`: what it has changed."""

    def __init__(self, folder):
        super().__init__(folder)
        self.texts = {}

    def read(self, path):
        return self.texts[path] if path in self.texts else super().read(path)

    def write(self, path, text):
        self.texts[path] = text


def attribute_in_requests(tree):
    """`monitoring` in RunInstances, and in what DescribeInstances answers."""
    aws = 'providers/aws/'
    tree.put(aws + 'instance_create.c', '\tjson_t *profile = aws_instance_profile_spec(attributes);\n',
             '\tif (json_is_true(json_object_get(attributes, "monitoring")))\n'
             '\t\tjson_object_set_new(params, "Monitoring", json_pack("{s:b}", "Enabled", 1));\n', before=True)
    read = aws + 'instance_read.c'
    tree.put(read, 'static const AwsShape metadata_members[]', 'static const AwsShape monitoring_members[] = '
             '{{"state"}, {0}};\n', before=True)
    tree.put(read, '\t{"metadataOptions", metadata_members},\n', '\t{"monitoring", monitoring_members},\n')
    tree.put(read, '\tread_network(record, &seen->marks, attributes);\n',
             '\tconst char *monitoring = mod_str(json_object_get(record, "monitoring"), "state");\n'
             '\tif (*monitoring)\n\t\tjson_object_set_new(attributes, "monitoring",\n'
             '\t\t\tjson_boolean(is_one_of(monitoring, "enabled", "pending")));\n', before=True)


def attribute(tree):
    """aws.instance gets `monitoring`: CloudWatch's figures each minute, on for every instance."""
    aws = 'providers/aws/'
    tree.put(aws + 'schema.json', '        "http_tokens": {',
             '        "monitoring": {"type": "boolean", "default": false, "force_new": true, '
             '"description": "figures each minute"},\n', before=True)
    tree.put(aws + 'lower.c', '\tmod_lower_disk(node, attributes);\n',
             '\tjson_object_set_new(attributes, "monitoring", json_true());\n', before=True)
    attribute_in_requests(tree)
    tree.put(aws + 'README.md', '| `http_tokens` | in place | `metadataOptions` |\n',
             '| `monitoring` | force new | `monitoring` |\n')
    calls = 'tests/unit/test_aws_create.c'
    tree.put(calls, "\"  'http_tokens': 'required', 'instance_state': 'running', ", "'monitoring': true, ")
    tree.put(calls, '\t\t{"MetadataOptions.HttpTokens", "required"},\n', '\t\t{"Monitoring.Enabled", "true"},\n')


def pool_setting(tree):
    """`provider: {monitoring: true}` of an EC2 pool: CloudWatch's figures each minute."""
    aws = 'providers/aws/'
    tree.put(aws + 'schema.json', '      "threads_per_core": {',
             '      "monitoring": {"type": "boolean", "examples": [true], "description": "figures each minute"},\n', before=True)
    tree.put(aws + 'schema.json', '        "http_tokens": {',
             '        "monitoring": {"type": "boolean", "field": "provider.monitoring", "default": false, "force_new": true, '
             '"description": "figures each minute"},\n', before=True)
    tree.put(aws + 'lower.c', '\tset_threads(lowering, node, attributes);\n',
             '\tif (json_is_true(json_object_get(json_object_get(node, "config"), "monitoring")))\n'
             '\t\tjson_object_set_new(attributes, "monitoring", json_true());\n')
    attribute_in_requests(tree)
    tree.put(aws + 'README.md', '| `http_tokens` | in place | `metadataOptions` |\n',
             '| `monitoring` | force new; `monitoring` of the pool | `monitoring` |\n')
    before = 'node/node_config/Monitoring,,none,raygpu does not set it\n'
    row = tree.read(aws + 'convert.csv')
    assert before in row
    tree.write(aws + 'convert.csv', row.replace(before, 'node/node_config/Monitoring,,lost,`provider: {monitoring: true}` of the pool\n'))
    tree.write('tests/cli/aws/test_monitoring.py', '''"""monitoring of a pool."""
from program import spec


def test_a_pool_is_monitored(sim, home):
    home.write('cluster.yaml', spec(pool_extra=', provider: {monitoring: true}'))
    home.apply()
    assert sorted(one['monitoring']['state'] for one in sim.live_instances()) == ['disabled', 'enabled']
    assert 'No changes.' in home.run('plan', '--no-settle').out
    home.write('cluster.yaml', spec())
    changed = home.run('plan', '--no-settle').out
    assert 'monitoring' in changed and 'forces replacement' in changed


def test_convert_names_it(home):
    home.write('ray.yaml', """cluster_name: research
provider: {type: aws, region: us-east-1}
available_node_types:
  head: {node_config: {InstanceType: m5.large, Monitoring: {Enabled: true}}}
head_node_type: head
""")
    said = home.run('convert', 'ray.yaml', code=None)
    assert 'provider: {monitoring: true}' in ' '.join((said.out + said.err).split())
''')


def gcp_attribute(tree):
    """gcp.instance gets `ip_forwarding`: every node may forward packets."""
    gcp = 'providers/gcp/'
    tree.put(gcp + 'schema.json', '        "host_maintenance": {',
             '        "ip_forwarding": {"type": "boolean", "default": false, "force_new": true, '
             '"description": "the node may forward packets"},\n', before=True)
    tree.put(gcp + 'lower.c', '\tmod_lower_disk(node, attributes);\n',
             '\tjson_object_set_new(attributes, "ip_forwarding", json_true());\n')
    tree.put(gcp + 'instance_body.c', '\tconst char *reservation = mod_str(attributes, "reservation");\n',
             '\tif (json_is_true(json_object_get(attributes, "ip_forwarding")))\n'
             '\t\tjson_object_set_new(body, "canIpForward", json_true());\n', before=True)
    tree.put(gcp + 'instance.h', '"serviceAccounts(email),', 'canIpForward,')
    tree.put(gcp + 'instance_read.c', '\tgcp_lease_read(json_object_get(record, "labels"), seen->attributes);\n',
             '\tjson_object_set_new(seen->attributes, "ip_forwarding",\n'
             '\t\tjson_boolean(json_is_true(json_object_get(record, "canIpForward"))));\n')
    tree.put(gcp + 'README.md', '`user_data` unreadable;', ' `ip_forwarding` force new;')
    tree.put('tests/cli/gcp/test_gcp_story.py', "    assert len(nodes(gce, 'train')) == 2 and len(nodes(gce, 'serve')) == 3 and len(nodes(gce)) == 8\n",
             "    assert all(one['canIpForward'] for one in nodes(gce))\n")


def field(tree):
    """`ipv6: true` of head and pools: an IPv6 address for each node."""
    tree.put('schemas/cluster.schema.json', '        "public_ip": {"$ref": "#/$defs/public_ip"},\n',
             '        "ipv6": {"type": "boolean", "default": false, "description": "an IPv6 address for each node"},\n',
             every=True)
    tree.put('man/raygpu-spec.5.scd', '*public_ip*\n\t', '*ipv6*\n\tAn IPv6 address for each node.\n\n', before=True)
    tree.put('man/raygpu-spec.5.scd', '|  *public_ip*\n', '|  *ipv6*\n:  true or false\n:  false\n:  new nodes\n', before=True)
    tree.put('src/spec/cluster.h', '\tbool public_ip;', '\tbool ipv6; /* each node gets an IPv6 address */\n', before=True)
    tree.put('src/spec/build.c', '\tpool->public_ip = json_is_true(json_object_get(value, "public_ip"));\n',
             '\tpool->ipv6 = json_is_true(json_object_get(value, "ipv6"));\n')
    tree.put('src/fit/node.c', '\tif (!pool->public_ip && ', '!pool->ipv6 && ')
    tree.put('src/fit/node.c', '\tif (pool->public_ip)\n',
             '\tif (pool->ipv6)\n\t\tjson_object_set_new(network, "ipv6", json_true());\n', before=True)
    tree.put('schemas/fitted.schema.json', '            "public_ip": {"const": true},\n', '            "ipv6": {"const": true},\n')
    spec = '''@spec
cluster: research
provider: {name: aws, region: us-east-1}
ray: {version: 2.56.1, python: "3.11"}
head: {instance_type: m5.large, ipv6: WORD}
pools:
  serve: {accelerators: T4, nodes: 1, ipv6: true}
@expect
'''
    tree.write('tests/golden/spec/ipv6.test', spec.replace('WORD', '1') + '''\
spec.yaml:4:39: error: head.ipv6 must be true or false, not the number 1 [spec.wrong-type]
    head: {instance_type: m5.large, ipv6: 1}
                                          ^
''')
    tree.put('tests/golden/spec/many-at-once.test', 'health, public_ip, ', 'ipv6, ')
    tree.put('tests/unit/test_fit.c', '"  t: {accelerators: T4, nodes: 1, public_ip: true', ', ipv6: true')
    tree.put('tests/unit/test_fit.c', '\tg_assert_true(rg_json_bool(json_object_get(node_at(&o, 1), "network"), "public_ip", false));\n',
             '\tg_assert_true(rg_json_bool(json_object_get(node_at(&o, 1), "network"), "ipv6", false));\n')


def code(tree):
    """`spec.reserved-cluster`: no cluster may have the program's name."""
    tree.put('src/base/diag_codes.h', '\tX("spec.reserved-name", 4)', '\tX("spec.reserved-cluster", 4) \\\n', before=True)
    tree.put('man/raygpu-diagnostics.7.scd', '*spec.reserved-name*\n',
             '*spec.reserved-cluster*\n\tA cluster cannot be called raygpu: that is the program. Choose another name.\n'
             '\tExit code 4.\n\n', before=True)
    tree.put('src/spec/rules.c', '\trg_spec_check_ray(document, diags);\n',
             '\tif (g_str_equal(rg_json_str(document->value, "cluster", ""), "raygpu"))\n'
             '\t\trg_diag_hint(rg_spec_report(document, "/cluster", "spec.reserved-cluster", diags,\n'
             '\t\t\t\t     "a cluster cannot be called raygpu"),\n\t\t\t"choose another name");\n')
    tree.write('tests/golden/spec/reserved-cluster.test', '''@spec
cluster: raygpu
provider: {name: aws, region: us-east-1}
ray: {version: 2.56.1, python: "3.11"}
head: {instance_type: m5.large}
@expect
spec.yaml:1:10: error: a cluster cannot be called raygpu [spec.reserved-cluster]
    cluster: raygpu
             ^~~~~~
  hint: choose another name
''')


def command(tree):
    """`raygpu hello`: prints how many commands there are."""
    tree.write('cmd/raygpu/spec/hello.c', '''#include "command.h"

int cmd_hello(Context *context, int argc, char **argv)
{
	int code = EXIT_FINE, count = 0;
	if (!options_parse(context, NULL, &argc, &argv, 0, 0, &code))
		return code;
	while (context->commands[count].name)
		count++;
	g_autofree char *text = g_strdup_printf("hello: %d commands\\n", count);
	out_text(text);
	return EXIT_FINE;
}
''')
    tree.put('cmd/raygpu/command.h', 'int cmd_init(', 'int cmd_hello(Context *context, int argc, char **argv);\n',
             before=True)
    tree.put('cmd/raygpu/main.c', '\t{"init", ', '\t{"hello", "", "say how many commands there are", NULL, cmd_hello},\n',
             before=True)
    tree.put('cmd/raygpu/meson.build', "    'spec/iam.c',\n", "    'spec/hello.c',\n", before=True)
    tree.put('README.md', '| `raygpu version` |', '| `raygpu hello` | says how many commands there are | |\n', before=True)
    tree.put('man/raygpu.1.scd', '*raygpu version*\n', '*raygpu hello*\n\tSays how many commands there are.\n\n', before=True)
    tree.write('tests/cli/command/test_hello.py', '''"""raygpu hello."""
import subprocess

from program import binary


def test_counts_the_commands():
    text = subprocess.run([binary(), 'hello'], capture_output=True, text=True, check=True).stdout
    told = subprocess.run([binary(), '-h'], capture_output=True, text=True, check=True).stdout
    assert text == f"hello: {len(told.split('Commands:')[1].split(chr(10) * 2)[0].strip().splitlines())} commands\\n"
''')


def format(tree):  # pylint: disable=redefined-builtin
    """`--format lines`: a line for each cluster."""
    tree.put('src/render/report/report.h', '\tX(GITHUB, "github")', ' \\\n\tX(LINES, "lines")')
    tree.put('src/render/report/report.h', 'char *rg_report_junit(const RgReports *reports);\n',
             '/* A line for each cluster. */\nchar *rg_report_lines(const RgReports *reports);\n')
    tree.write('src/render/report/lines.c', '''#include "render/report/report.h"

char *rg_report_lines(const RgReports *reports)
{
	GString *text = g_string_new(NULL);
	for (size_t i = 0; i < reports->n; i++)
		g_string_append_printf(text, "%s: exit code %d\\n", reports->command,
			reports->items[i].exit_code);
	return g_string_free(text, FALSE);
}
''')
    tree.put('src/render/meson.build', "    'report/markdown.c',\n", "    'report/lines.c',\n", before=True)
    tree.put('cmd/raygpu/print/report.c', '\t\treturn rg_report_junit(reports);\n',
             '\tcase RG_REPORT_LINES:\n\t\treturn rg_report_lines(reports);\n')
    tree.put('man/raygpu.1.scd', '*--format* _text|json|markdown|junit|sarif|github', '|lines')
    tree.write('tests/cli/report/test_lines.py', '''"""plan --format lines."""
from program import Home, spec
from sim_server import Sim


def test_each_cluster_is_a_line(tmp_path):
    with Sim() as sim:
        home = Home(tmp_path, sim.env())
        home.write('cluster.yaml', spec())
        assert home.run('plan', '--format', 'lines').out == 'plan: exit code 0\\n'
''')


def provider(tree):
    """A module `recipe` from the template."""
    for name in ('schema.json', 'template.c', 'cloud.c', 'cloud.h', 'instance_types.csv', 'prices.csv', 'README.md'):
        text = tree.read('providers/template/' + name).replace('template', 'recipe')
        # third parties need no GLib; in the tree, C's own functions are banned (tests/lint)
        text = text.replace('calloc(1, ', 'g_malloc0(').replace('= strdup(', '= g_strdup(')
        text = text.replace('\tfree(inst', '\tg_free(inst').replace('#include <jansson.h>', '#include <glib.h>\n#include <jansson.h>')
        tree.write('providers/recipe/' + name.replace('template', 'recipe'), text)
    tree.write('providers/recipe/meson.build', """# The module is made in ../meson.build, beside this folder with its data.
recipe_config = configuration_data()
recipe_config.set_quoted('SCHEMA_JSON', import('fs').read('schema.json').replace('\\\\\\\\', '\\\\\\\\\\\\\\\\').replace('\\n', ' '))
recipe_config.set_quoted('VERSION', meson.project_version())
configure_file(output: 'config.h', configuration: recipe_config)
inc_recipe = include_directories('.')
foreach name : ['schema.json', 'instance_types.csv', 'prices.csv']
  import('fs').copyfile(name)
  install_data(name, install_dir: provider_dir / 'recipe')
endforeach
""".replace('\\\\\\\\', '\\\\'))
    tree.put('providers/meson.build', "subdir('aws/tests')\n", """subdir('recipe')
shared_module('recipe', 'recipe/recipe.c', 'recipe/cloud.c', name_prefix: '', link_args: module_link_args,
  include_directories: [inc_abi, inc_recipe], dependencies: [glib_dep, jansson_dep],
  gnu_symbol_visibility: 'hidden', install: true, install_dir: provider_dir)
""", before=True)
    tree.put('tests/touched.py', "    ('providers/template/', 'module'),\n", "    ('providers/recipe/', 'module'),\n")


def store(tree):
    """`minio://`: another vendor's S3 under a name of its own."""
    aws = 'providers/aws/schema.json'
    tree.put(aws, '"stores": {', """"minio": {
    "example": "minio://BUCKET/PREFIX?endpoint=https://minio.example.com",
    "region": "us-east-1",
    "parameters": {
      "endpoint": "URL of the server",
      "region": "region that requests are signed for"
    }
  }, """)
    tree.put('tests/cli/state/document_stores.py', 'class GoogleBucket(Bucket):', '''class Minio(Bucket):
    """MinIO, for which moto's server stands."""

    def new(self):
        return super().new().replace('s3:', 'minio:', 1)


''', before=True)
    tree.put('tests/cli/state/stores.py', 'import ROW_DAMAGES, Bucket, Documents, GoogleBucket', ', Minio')
    tree.put('tests/cli/state/stores.py', "'s3': (Bucket, ()), ", "'minio': (Minio, ()), ")
    tree.put('man/raygpu-state.5.scd', '*s3://* and *gs://* are buckets (OBJECTS)', ', *minio://* is one of MinIO')
