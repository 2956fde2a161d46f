"""The four recipes of src/HACKING.md, done: each function edits a copy of the tree as its section
says. A sentence of the code that an edit leans on and that is gone makes the test fail, and the
recipe wants another look."""
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

    def put(self, path, place, new, before=False):
        """Adds `new` behind (or before) the first `place` in a file."""
        text = self.read(path)
        assert place in text, f'{path} has no {place!r} any more'
        self.write(path, text.replace(place, new + place if before else place + new, 1))


def attribute(tree):
    """aws.instance gets `monitoring`: CloudWatch's figures each minute, on for every instance."""
    aws = 'providers/aws/'
    tree.put(aws + 'schema.json', '        "http_tokens": {',
             '        "monitoring": {"type": "boolean", "default": false, "force_new": true, '
             '"description": "figures each minute"},\n', before=True)
    tree.put(aws + 'lower.c', '\tif (mod_int(disk, "size_gb"))\n',
             '\tjson_object_set_new(attributes, "monitoring", json_true());\n', before=True)
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
    tree.put(aws + 'README.md', '| `http_tokens` | in place | `metadataOptions` |\n',
             '| `monitoring` | force new | `monitoring` |\n')
    calls = 'tests/unit/test_aws_calls.c'
    tree.put(calls, "\"  'http_tokens': 'required', 'instance_state': 'running', ", "'monitoring': true, ")
    tree.put(calls, '\t\t{"MetadataOptions.HttpTokens", "required"},\n', '\t\t{"Monitoring.Enabled", "true"},\n')


def code(tree):
    """`spec.reserved-cluster`: no cluster may be called as the program is."""
    tree.put('src/base/diag_codes.h', '\tX("spec.reserved-name", 4)', '\tX("spec.reserved-cluster", 4) \\\n', before=True)
    tree.put('man/raygpu-diagnostics.7.scd', '*spec.reserved-name*\n',
             '*spec.reserved-cluster*\n\tA cluster can\'t be called raygpu: that is the program. Choose another name.\n'
             '\tExit code 4.\n\n', before=True)
    tree.put('src/spec/rules.c', '\thide_secrets(document->value);\n',
             '\tif (strcmp(rg_json_str(document->value, "cluster", ""), "raygpu") == 0)\n'
             '\t\trg_diag_hint(rg_spec_report(document, "/cluster", "spec.reserved-cluster", diags,\n'
             '\t\t\t\t     "a cluster can\'t be called raygpu"),\n\t\t\t"choose another name");\n')
    tree.write('tests/golden/spec/reserved-cluster.test', '''@spec
cluster: raygpu
provider: {name: aws, region: us-east-1}
ray: {version: 2.52.0, python: "3.11"}
head: {instance_type: m5.large}
@expect
spec.yaml:1:10: error: a cluster can't be called raygpu [spec.reserved-cluster]
    cluster: raygpu
             ^~~~~~
  hint: choose another name
''')


def command(tree):
    """`raygpu hello`: says how many commands there are."""
    tree.write('cmd/raygpu/hello.c', '''#include "command.h"

int cmd_hello(Context *context, int argc, char **argv)
{
	int code = EXIT_FINE, count = 0;
	if (!options_parse(context, NULL, &argc, &argv, 0, 0, &code))
		return code;
	while (commands_get()[count].name)
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
    tree.put('cmd/raygpu/meson.build', "'init.c', ", "'hello.c', ", before=True)
    tree.put('README.md', '| `raygpu version` |', '| `raygpu hello` | says how many commands there are | |\n', before=True)
    tree.put('man/raygpu.1.scd', '*raygpu version*\n', '*raygpu hello*\n\tSays how many commands there are.\n\n', before=True)
    tree.write('tests/cli/test_hello.py', '''"""raygpu hello."""
import subprocess

from program import binary


def test_counts_the_commands():
    text = subprocess.run([binary(), 'hello'], capture_output=True, text=True, check=True).stdout
    told = subprocess.run([binary(), '-h'], capture_output=True, text=True, check=True).stdout
    assert text == f"hello: {len(told.split('Commands:')[1].split(chr(10) * 2)[0].strip().splitlines())} commands\\n"
''')


def provider(tree):
    """A module `recipe` from the template."""
    for name in ('schema.json', 'template.c', 'instance_types.csv', 'prices.csv', 'README.md'):
        text = tree.read('providers/template/' + name).replace('template', 'recipe')
        # third parties need no GLib; in the tree C's own are banned (tests/lint)
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
shared_module('recipe', 'recipe/recipe.c', name_prefix: '', link_args: module_link_args,
  include_directories: [inc_abi, inc_recipe], dependencies: [glib_dep, jansson_dep],
  gnu_symbol_visibility: 'hidden', install: true, install_dir: provider_dir)
""", before=True)
