"""House rules (src/README.md, src/HACKING.md), each with a self-test that it can fail."""
import json
import os
import re
import subprocess
import sys

import pytest
import rules
import words

sys.path.insert(0, os.path.join(rules.ROOT, 'tests'))
import touched  # noqa: E402, pylint: disable=wrong-import-position

FILES = rules.tracked('.c', '.h')
MESON = rules.tracked('meson.build')
with open(os.path.join(rules.ROOT, 'src/README.md'), encoding='utf-8') as f:
    ROWS = rules.table(f.read())

# Folders without a cycle of calls between their files.
# Not providers/aws/sim: an instance, its reservation, spot request, lease and volumes end each other in EC2 too.
ONE_WAY = ['cmd/raygpu', 'cmd/raygpu-sim', 'providers/aws', 'providers/common', 'providers/gcp', 'providers/gcp/sim', 'providers/kubernetes', 'providers/ssh',
           'providers/template', 'src/adopt', 'src/apply', 'src/archive', 'src/base', 'src/boot', 'src/catalog', 'src/convert', 'src/diff', 'src/fit', 'src/git',
           'src/http', 'src/intent', 'src/objects', 'src/pack', 'src/pipeline', 'src/plan', 'src/provider', 'src/reach', 'src/ready', 'src/refresh', 'src/remote',
           'src/render', 'src/resource', 'src/seal', 'src/sim/core', 'src/spec', 'src/specs', 'src/state', 'src/transfer', 'src/workloads']


def none(complaints):
    complaints = list(complaints)
    assert not complaints, '\n'.join(complaints)


def test_every_folder_stands_in_the_table():
    folders = {name for name in os.listdir(os.path.join(rules.ROOT, 'src'))
               if os.path.isdir(os.path.join(rules.ROOT, 'src', name))}
    assert folders == set(ROWS)


def test_the_table_has_no_cycle():
    none(rules.acyclic(ROWS))


def test_the_table_has_no_row_too_many():
    none(rules.unused(FILES, ROWS))


def test_folders_include_only_what_the_table_allows():
    none(rules.layers(FILES, ROWS))


@pytest.mark.parametrize('folder', ONE_WAY)
def test_files_of_a_folder_call_each_other_in_one_direction(folder):
    none(rules.one_way(FILES, folder))


def test_who_only_reads_a_state_cannot_write_it():
    none(rules.readers(FILES))


def test_third_party_headers_have_one_door():
    none(rules.doors(FILES))


def test_banned_functions_stay_out():
    none(rules.banned(FILES))


def test_functions_and_files_keep_their_limits():
    none(rules.limits(FILES))


def test_c_has_one_dialect():
    none(rules.dialect(FILES))


def test_meson_files_have_one_name_a_line():
    none(rules.meson_lists(MESON))


def test_what_people_read_is_plain_english():
    """Not test data, the frozen header, nor the table of odd words and its self-tests."""
    texts = rules.tracked('.c', '.h', '.py', '.sh', '.scd', '.md', '.yaml', '.yml', 'meson.build', '.ci/run')
    none(words.plain_words({path: text for path, text in texts.items() if not path.startswith(
        ('tests/golden/', 'tests/fuzz/corpus/', 'tests/abi/frozen/', 'tests/lint/'))}))


def test_the_core_has_no_word_of_a_cloud():
    none(rules.no_cloud(rules.tracked('.c', '.h', '.sh', '.service', '.md', '.schema.json', '-schema.json')))


def module_files(module):
    folder = os.path.join(rules.ROOT, 'providers', module)
    texts = {}
    for name in os.listdir(folder):
        if name.endswith(('.c', '.json')):
            with open(os.path.join(folder, name), encoding='utf-8') as file:
                texts[name] = file.read()
    return texts


MODULES = sorted(name for name in os.listdir(os.path.join(rules.ROOT, 'providers'))
                 if os.path.exists(os.path.join(rules.ROOT, 'providers', name, 'schema.json')))


@pytest.mark.parametrize('module', MODULES)
def test_modules_read_back_what_they_set(module):
    files = module_files(module)
    schema = json.loads(files['schema.json'])
    none(rules.unread(module, schema, files))
    for kind in schema['kinds'].values():  # and it can fail
        kind['attributes']['hibernation'] = {'type': 'integer', 'force_new': True}
    assert len(list(rules.unread(module, schema, files))) == len(schema['kinds'])


def test_the_mask_of_instances_has_what_is_read_of_them():
    files = module_files('gcp')
    mask = FILES['providers/gcp/instance.h'].split('GCP_INSTANCE_FIELDS')[0]
    read = set(re.findall(r'(?:mod_str|mod_int|json_object_get)\(record, "(\w+)"\)', files['instance_read.c']))
    asked = set(re.findall(r'\w+', ' '.join(re.findall(r'"([^"]*)"', mask))))
    assert len(read) > 10 and read - asked == {'zone'}, 'the zone of a list is that of its part'


def folders_in(path):
    here = os.path.join(rules.ROOT, path)
    return [name for name in sorted(os.listdir(here)) if os.path.isdir(os.path.join(here, name)) and name[0] not in '._']


def test_a_change_of_any_folder_runs_its_tests():
    folders = [f'{top}/{name}/' for top in ('src', 'providers', 'cmd') for name in folders_in(top)]
    folders += [f'providers/{name}/sim/' for name in folders_in('providers') if name != 'kubernetes' and 'sim' in folders_in(f'providers/{name}')]
    none(rules.tested(touched.TABLE, folders, folders_in('tests/cli')))
    assert touched.tests_of(['providers/gcp/lower.c']) == ['tests/cli/apply/test_story.py', 'tests/cli/gcp']
    for path in [row for row, _ in touched.TABLE]:  # no row hides a later one
        assert next(row for row, _ in touched.TABLE if path.startswith(row)) == path
    for names in {word for _, words in touched.TABLE for word in words.split()}:
        assert os.path.exists(os.path.join(rules.ROOT, 'tests/cli', names)), names


def test_costly_tests_run_after_a_change_and_in_turn(monkeypatch):
    monkeypatch.delenv('RAYGPU_LONG', raising=False)
    tracked = subprocess.run(['git', 'ls-files'], cwd=rules.ROOT, check=True, capture_output=True, text=True).stdout.split('\n')
    named = [*touched.CORE, *touched.SLOW, *touched.CLIENTS, *' '.join([*touched.COSTLY, *touched.COSTLY.values()]).split()]
    assert not [one for one in named if not any(path.startswith(one) for path in tracked)]
    count = touched.commits()
    assert count > 0
    monkeypatch.setattr(touched, 'changes', lambda: [])
    often = {path for path in tracked if path.startswith('tests/cli/') and os.path.basename(path).startswith('test_')} - set(touched.of_simulator())
    never, under_asan = {*touched.costly(), *often}, set()
    for later in range(touched.TURNS):
        monkeypatch.setattr(touched, 'commits', lambda at=count + later: at)
        never &= set(touched.left_out())
        assert later != 1 or never <= set(touched.costly()), 'of the others each second run has all'
        under_asan |= set(touched.under_asan())
    assert len(touched.costly()) > 30 and not never
    assert {path for path in tracked if path.startswith('tests/cli/') and os.path.basename(path).startswith('test_') and path.endswith('.py')} == {
        *under_asan, *touched.of_simulator(), *touched.CLIENTS, *(one for one in touched.costly() if one.startswith('tests/cli/')),
        *(path for path in tracked if path.startswith(touched.SLOW) and os.path.basename(path).startswith('test_'))}
    monkeypatch.setattr(touched, 'changes', lambda: ['src/boot/gone.sh'])
    assert not [path for path in touched.left_out() if path.startswith('tests/cli/boot/')]
    monkeypatch.setattr(touched, 'changes', lambda: ['src/refresh/gone.c', 'tests/cli/kube/test_kube_login.py'])
    assert not [path for path in touched.left_out() if path.startswith(('tests/cli/adopt/', 'tests/cli/kube/test_kube_login', *touched.SMOKE))]
    monkeypatch.setattr(touched, 'changes', lambda: ['tests/cli/program.py'])
    assert not often & set(touched.left_out()) - set(touched.costly())
    monkeypatch.setenv('RAYGPU_LONG', '1')
    assert touched.left_out() == touched.of_simulator()


def test_tests_do_not_wait_for_real_time():
    none(rules.sleeps({path: text for path, text in rules.tracked('.py').items() if path.startswith('tests/') and 'tests/lint/' not in path}))


def test_tests_are_patient_and_assert_no_time():
    none(rules.hurried({path: text for path, text in rules.tracked('.py').items() if path.startswith('tests/') and not path.startswith(
        ('tests/lint/', 'tests/bench/'))}))


def test_top_level_holds_only_what_the_user_fixed():
    allowed = {'meson.build', 'cmd', 'src', 'providers', 'examples', 'schemas', 'tests', 'man', 'README.md',
               'LICENSE', 'meson_options.txt'}
    names = subprocess.run(['git', 'ls-files'], cwd=rules.ROOT, check=True, capture_output=True,
                           text=True).stdout.split()
    top = {name.split('/')[0] for name in names}
    assert {name for name in top if not name.startswith('.')} <= allowed


def test_diagnostic_codes_stand_in_the_man_page():
    with open(os.path.join(rules.ROOT, 'src/base/diag_codes.h'), encoding='utf-8') as f:
        codes = set(re.findall(r'X\("([a-z0-9.-]+)"', f.read()))
    with open(os.path.join(rules.ROOT, 'man/raygpu-diagnostics.7.scd'), encoding='utf-8') as f:
        told = set(re.findall(r'^\*([a-z]+\.[a-z0-9-]+)\*', f.read(), re.M))
    assert codes == told


def test_listed_codes_are_in_use():
    with open(os.path.join(rules.ROOT, 'src/base/diag_codes.h'), encoding='utf-8') as f:
        codes = set(re.findall(r'X\("([a-z0-9.-]+)"', f.read()))
    text = '\n'.join(t for p, t in FILES.items()
                     if p.startswith(('src/', 'cmd/')) and not p.endswith('diag_codes.h'))
    used = set(re.findall(r'"((?:' + '|'.join(sorted({c.split('.')[0] for c in codes})) + r')\.[a-z0-9-]+)"',
                          text))
    assert not codes - used, f'never raised: {sorted(codes - used)}'


def test_layout_is_clang_formats():
    names = [p for p in FILES if not p.startswith('tests/golden/')]
    result = subprocess.run(['clang-format', '--dry-run', '-Werror', *names], cwd=rules.ROOT,
                            capture_output=True, text=True)
    assert result.returncode == 0, '\n'.join(
        sorted({line.split(':')[0] for line in result.stderr.split('\n') if 'error:' in line}))


def test_scripts_pass_shellcheck():
    names = subprocess.run(['git', 'ls-files', '*.sh', '.ci/run'], cwd=rules.ROOT, check=True,
                           capture_output=True, text=True).stdout.split()
    subprocess.run(['shellcheck', *names], cwd=rules.ROOT, check=True)


BAD = {
    'layers': ({'src/diff/x.c': '#include "state/read.h"\n'}, lambda f: rules.layers(f, ROWS)),
    'readers': ({'src/reach/x.c': '#include "ready/x.h"\n', 'src/ready/x.h': '#include "state/write.h"\n'}, rules.readers),
    'readers that open for writing': ({'src/render/x.c': 'int a = RG_STORE_WRITE;\n'}, rules.readers),
    'row too many': ({'src/diff/x.c': '#include "base/diag.h"\n'}, lambda f: rules.unused(f, {'diff': ({'base', 'plan'}, set())})),
    'provider': ({'providers/aws/x.c': '#include "base/json.h"\n'}, lambda f: rules.layers(f, ROWS)),
    'simulated cloud': ({'providers/aws/sim/x.c': '#include "aws/form.h"\n'}, lambda f: rules.layers(f, ROWS)),
    'simulated cloud in a provider': ({'providers/aws/x.c': '#include "aws/sim/ec2.h"\n'}, lambda f: rules.layers(f, ROWS)),
    'simulator': ({'cmd/raygpu/x.c': '#include "sim/core/sim.h"\n'}, lambda f: rules.layers(f, ROWS)),
    'helper of providers in a simulated cloud': ({'providers/aws/sim/x.c': '#include "common/talk.h"\n'}, lambda f: rules.layers(f, ROWS)),
    'cycle of calls': ({'src/x/a.c': 'void a(void)\n{\n\tb();\n}\n', 'src/x/b.c': 'int b(int x,\n\tint y)\n{\n\ta();\n}\n'},
                       lambda f: rules.one_way(f, 'src/x')),
    'doors': ({'src/plan/x.c': '#include <sqlite3.h>\n'}, rules.doors),
    'banned': ({'src/plan/x.c': 'void f(void)\n{\n\tputs("x");\n}\n'}, rules.banned),
    'banned in a library': ({'src/plan/x.c': 'int a = getenv("X");\n'}, rules.banned),
    'long function': ({'src/plan/x.c': 'void f(void)\n{\n' + '\tg();\n' * 90 + '}\n'}, rules.limits),
    'row of names': ({'meson.build': "files('a.c', 'b.c', 'c.c', 'd.c')\n"}, rules.meson_lists),
    'names out of order': ({'meson.build': "files(\n  'b.c',\n  'a.c',\n)\n"}, rules.meson_lists),
    'odd word in a message': ({'src/x/y.c': 'f("%s wants a folder");\n'}, words.plain_words),
    'odd phrase in a message': ({'src/x/y.c': 'f("remove %s by hand");\n'}, words.plain_words),
    'odd word in a man page': ({'man/x.1.scd': 'Tells what it did.\n'}, words.plain_words),
    '"is no"': ({'README.md': 'It is no plan.\n'}, words.plain_words),
    'odd phrase in a comment': ({'src/x/y.h': '/* Copies, one a\n * node. */\n'}, words.plain_words),
    'odd word in a comment of a script': ({'tests/x.sh': 'x=1 # it is mended\n'}, words.plain_words),
    'odd word in a docstring': ({'tests/x.py': 'def f():\n    """What somebody\n    changed."""\n'}, words.plain_words),
    'odd phrase in an example': ({'examples/x.yaml': 'head: {} # one a node\n'}, words.plain_words),
    'NULL compared': ({'src/plan/x.c': 'if (a == NULL)\n'}, rules.dialect),
    'not NULL compared': ({'src/plan/x.c': 'if (a != NULL && b)\n'}, rules.dialect),
    'strcmp compared': ({'src/plan/x.c': 'if (strcmp(f(a), b) == 0)\n'}, rules.dialect),
    'a cloud by name': ({'src/fit/x.c': 'if (g_str_equal(name, "aws"))\n'}, rules.no_cloud),
    "a cloud's word in a comment": ({'src/plan/x.h': '/* the AMI of a node */\n'}, rules.no_cloud),
    "a cloud's word in a script": ({'src/boot/x.sh': 'curl http://metadata.google.internal\n'}, rules.no_cloud),
    "a cloud's word in a name": ({'src/fit/x.c': 'int vpc_id;\n'}, rules.no_cloud),
    'a cloud in a schema': ({'schemas/cluster.schema.json': '"description": "a region of AWS"\n'}, rules.no_cloud),
    'a region': ({'src/fit/x.c': 'const char *zone = "us-east-1a";\n'}, rules.no_cloud),
    'a cloud in an allowed file': ({'cmd/raygpu/context.c': 'is_aws();\n'}, rules.no_cloud),
    'a sleep': ({'tests/cli/x/test_y.py': 'time.sleep(1)\n'}, lambda files: rules.sleeps(files, 0)),
    'a short limit': ({'tests/cli/x/test_y.py': 'end = time.monotonic() + 20\n'}, rules.hurried),
    'a time that is asserted': ({'tests/cli/x/test_y.py': 'assert time.monotonic() - begun < 3\n'}, rules.hurried),
    'a folder without tests': ({}, lambda _: rules.tested([('src/a/', 'spec')], ['src/a/', 'src/b/'], ['spec'])),
    'tests that nothing runs': ({}, lambda _: rules.tested([('src/a/', 'spec')], ['src/a/'], ['spec', 'fit'])),
    'long file': ({'src/plan/x.c': '\n' * 700}, rules.limits),
}


@pytest.mark.parametrize('name', BAD)
def test_the_linter_finds(name):
    files, rule = BAD[name]
    assert list(rule(files))


def test_the_linter_ignores_comments_and_strings():
    assert not list(rules.banned({'src/x/y.c': '/* printf( */ a = "printf(x)"; g_strdup(b); json->exit(1);\n'}))
    assert list(rules.acyclic({'a': ({'b'}, set()), 'b': ({'a'}, set())}))
    fine = '/* `told` */ a = "told"; b("there is no plan, it is no longer here"); /* code "mended" */\n'
    text = 'SPEC = """\\\nname: somebody\n"""\n'
    assert not list(words.plain_words({'src/x/y.c': fine, 'man/x.7.scd': '*state.not-told*\n', 'tests/x.py': text}))


def test_the_linter_allows_clouds_where_they_belong():
    fine = {'providers/aws/x.c': 'aws();\n', 'cmd/raygpu/context.c': '\t{"gcp", NULL, rg_gcp_data},\n',
            'src/http/x.c': 'curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, scope);\n', 'src/x/y.c': 'awsome(tests, vpcx);\n'}
    assert not list(rules.no_cloud(fine))


def test_each_test_file_has_a_name_of_its_own():
    """pytest takes two files of one name, in folders without __init__.py, for one module."""
    names = subprocess.run(['git', 'ls-files', 'tests/**/test_*.py', 'tests/test_*.py'], cwd=rules.ROOT, check=True,
                           capture_output=True, text=True).stdout.split()
    files = [os.path.basename(n) for n in names]
    assert len(files) > 40 and not {n for n in files if files.count(n) > 1}
