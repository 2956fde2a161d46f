"""`raygpu providers check` against good modules with their clouds, and against faulty ones.

What a module may do wrong by the rules of the ABI, and which test proves that it is refused or contained:
entry, versions, table, name, schema: the table in tests/unit/test_provider_load.c; handles that are used late
or on another thread, bad slots, impure calls: test_provider_calls.c; items: test_provider_items.c; requests
and helpers: test_provider_services.c. Here: crashing, ending the process, hanging, and changing its process."""
import json
import os
import shutil

import pytest
from program import Home
from sim_server import Sim
from template_cloud import Cloud, Refused
from test_template import build_template, installed, modules  # pylint: disable=unused-import

BUILD = os.environ.get('RAYGPU_BUILD', '')


def odd(name):
    return os.path.join(BUILD, 'src/provider', name + '.so')


def check(tmp_path, *arguments, env=None, code=0):
    return Home(tmp_path, env).run('providers', 'check', *arguments, code=code)


def failed(report):
    return {s['step']: s['why'] for s in report['steps'] if s['outcome'] == 'fail'}


def test_the_template_passes(tmp_path, modules):    # pylint: disable=redefined-outer-name
    with Cloud() as cloud:
        env = {'TEMPLATE_API_KEY': cloud.key}
        report = check(tmp_path, os.path.join(modules, 'template.so'), '--region', 'north',
                       '--endpoint', cloud.url, '--json', env=env).json()
        assert report['ok'] and report['failed'] == 0 and report['passed'] >= 35
        assert len([r for r in cloud.requests if r[0] == 'POST']) == 4, 'each create twice'
        assert not cloud.live() and cloud.count == 3


def test_marks_that_hold_too_little_are_caught(tmp_path, installed):    # pylint: disable=redefined-outer-name
    def change(name, text):
        old = '"marks": {"value": {"pattern": "^[a-z0-9_-]{0,63}$"'
        assert name != 'schema.json' or old in text
        return text.replace(old, old.replace('63', '39'))

    module = build_template(installed, tmp_path, change) + '/template.so'
    bad = failed(check(tmp_path, module, '--json', code=1).json())
    assert bad["its ownership tags can hold raygpu's values"].startswith('marks.value of the schema does not match the commit, ')


def test_settings_of_pools_that_lower_ignores_are_caught(tmp_path, installed):    # pylint: disable=redefined-outer-name
    def change(name, text):
        if name != 'schema.json':
            return text
        schema = json.loads(text)
        settings = schema['pool_config']['properties']
        settings['turbo'] = {'type': 'boolean', 'examples': [True]}
        settings['fans'] = {'type': 'integer', 'examples': ['two']}
        return json.dumps(schema)

    module = build_template(installed, tmp_path, change) + '/template.so'
    with Cloud() as cloud:
        report = check_template(tmp_path, os.path.dirname(module), cloud, code=1)
    assert failed(report) == {
        'lower uses the pool setting turbo': 'the resources are the same without it',
        'lower uses the pool setting fans': 'pools.check.provider.fans must be of type integer, not "two"'}
    assert {'step': 'lower uses the pool setting power_limit_w', 'outcome': 'pass', 'why': None} in report['steps']


def test_a_setting_of_pools_with_which_lower_breaks_the_rules_is_caught(tmp_path, installed):    # pylint: disable=redefined-outer-name
    """A module may refuse an example: it may require other settings."""
    old = 'json_object_get(node, "config"), "power_limit_w"));'

    def change(name, text):
        if name == 'schema.json':
            schema = json.loads(text)
            settings = schema['pool_config']['properties']
            settings['turbo'] = {'type': 'boolean', 'examples': [True]}
            return json.dumps(schema)
        assert name != 'template.c' or old in text
        return text.replace(old, old + """
            if (json_object_get(json_object_get(node, "config"), "turbo"))
                json_object_set_new(attributes, "no_such", json_true());""")

    module = build_template(installed, tmp_path, change) + '/template.so'
    with Cloud() as cloud:
        report = check_template(tmp_path, os.path.dirname(module), cloud, code=1)
    assert list(failed(report)) == ['lower uses the pool setting turbo']
    assert 'no_such' in failed(report)['lower uses the pool setting turbo']


@pytest.mark.parametrize('change, why', [
    ({'additionalProperties': True}, 'pool_config needs properties and additionalProperties: false'),
    ({'properties': {'turbo': {'type': 'boolean'}}}, 'turbo of pool_config has no examples'),
    ({'properties': {'turbo': {'examples': ['x'], 'x-raygpu-trust': 'profile'}}}, 'turbo of pool_config has x-raygpu-trust'),
    ({'properties': {'turbo': {'examples': ['x'], 'x-raygpu-cpus': 'half'}}}, 'x-raygpu-cpus of turbo in pool_config must be "value" or "per_core"'),
    ({'$ref': '#/$defs/none'}, 'pool_config needs properties'),
    ({'properties': {'turbo': {'examples': ['x'], 'type': 'nothing'}}}, 'the schema of its settings is not usable'),
])
def test_settings_of_pools_that_cannot_be_checked_are_refused(tmp_path, modules, change, why):    # pylint: disable=redefined-outer-name
    """By the schema beside the module, without loading it."""
    shutil.copytree(modules, tmp_path / 'changed')
    path = tmp_path / 'changed/template/schema.json'
    schema = json.loads(path.read_text())
    schema['pool_config'].update(change)
    path.write_text(json.dumps(schema))
    home = Home(tmp_path)
    home.write('cluster.yaml', 'cluster: a\nprovider: {name: template, region: north, endpoint: "http://127.0.0.1:1"}\n'
               'ray: {version: 2.56.1, python: "3.11"}\nhead: {instance_type: cpu.large}\npools: {}\n')
    assert why in ' '.join(home.run('validate', 'cluster.yaml', '--provider-dir', str(tmp_path / 'changed'), code=1).err.split())


def check_template(tmp_path, modules, cloud, *arguments, code=0):    # pylint: disable=redefined-outer-name
    return check(tmp_path, os.path.join(modules, 'template.so'), '--region', 'north', '--endpoint', cloud.url, '--json',
                 *arguments, env={'TEMPLATE_API_KEY': cloud.key}, code=code).json()


def test_a_cloud_that_takes_its_time_passes(tmp_path, modules):    # pylint: disable=redefined-outer-name
    with Cloud() as cloud:
        cloud.stop_looks, cloud.slow_changes, cloud.own_labels = 2, 2, {'by': 'us'}
        report = check_template(tmp_path, modules, cloud)
        steps = [s['step'] for s in report['steps']]
        assert 'remove template.node.head, which an interrupted run started' in steps
        assert not cloud.nodes and len([r for r in cloud.requests if '/operations/' in r[1]]) >= 4


def test_a_cloud_with_a_queue_passes_if_it_says_where(tmp_path, modules, installed):    # pylint: disable=redefined-outer-name
    with Cloud() as cloud:
        cloud.queue = 'position 3 of 7'
        report = check_template(tmp_path, modules, cloud)
        outcomes = {s['step']: s['outcome'] for s in report['steps']}
        assert outcomes['ready template.node: queued, and the message says where'] == 'pass'
        assert outcomes['create everything'] == 'skip' and outcomes['find template.node.head by its token'] == 'pass'
        assert not cloud.nodes
        cloud.queue = ''
        assert failed(check_template(tmp_path, modules, cloud, code=1)) == {
            'ready template.node: queued, and the message says where': 'plans and apply could not say what it waits for'}

    def change(name, text):
        old = '"status", *str(node, "waits") ? str(node, "waits") : str(node, "state"),'
        assert name != 'template.c' or old in text
        return text.replace(old, '"status", NULL,').replace('s:s, s:s, s:s*, s:{s:s, s:s', 's:s, s:s*, s:s*, s:{s:s, s:s')

    module = build_template(installed, tmp_path, change)
    with Cloud() as cloud:
        cloud.queue = 'position 3 of 7'
        assert failed(check_template(tmp_path, module, cloud, code=1)) == {
            'list template.node: all, with address, as created': 'template.node.head is queued, but has no "status" that says where'}


@pytest.mark.parametrize('doing, said', [('giving back', 'pass'), ('give back', 'FAIL')])
def test_words_of_a_removal_are_three(tmp_path, installed, doing, said):    # pylint: disable=redefined-outer-name
    def change(name, text):
        if name != 'schema.json':
            return text
        schema = json.loads(text)
        schema['kinds']['template.node']['removal'] = {'verb': 'give back', 'doing': doing, 'done': 'given back'}
        return json.dumps(schema)

    module = build_template(installed, tmp_path, change) + '/template.so'
    report = check(tmp_path, module, code=said == 'FAIL').out
    assert f'{said}  the words of removal of template.node are three forms' in report, report


def test_a_removal_without_end_and_one_that_cannot_be_repeated_are_caught(tmp_path, modules):    # pylint: disable=redefined-outer-name
    with Cloud() as cloud:
        cloud.stop_looks = 10 ** 6
        bad = failed(check_template(tmp_path, modules, cloud, '--wait', '2', code=1))
        assert 'it is still pending' in bad['remove template.node.head, which an interrupted run started']

    class Busy(Cloud):
        """Refuses to delete what it is already deleting."""
        def delete(self, node):
            if node['state'] == 'stopping':
                raise Refused(409, 'conflict', 'it is busy')
            return super().delete(node)

    with Busy() as cloud:
        cloud.stop_looks = 10
        bad = failed(check_template(tmp_path, modules, cloud, code=1))
        assert 'it is busy' in bad['remove template.node.head, which an interrupted run started']


def test_kinds_that_are_listed_together_need_pages_of_one_kind(tmp_path, installed):     # pylint: disable=redefined-outer-name
    """The template's pages do not name their kind: correct while it has only one kind."""
    def change(name, text):
        if name != 'schema.json':
            return text
        schema = json.loads(text)
        schema['kinds']['template.node']['listing'] = 'all'
        schema['kinds']['template.disk'] = {'version': 1, 'listing': 'all', 'attributes': {},
                                            'batch': {'create': 1, 'update': 1, 'remove': 1}}
        return json.dumps(schema)
    with Cloud() as cloud:
        modules = build_template(installed, tmp_path, change)
        report = check(tmp_path, os.path.join(modules, 'template.so'), '--region', 'north', '--endpoint', cloud.url,
                       '--json', env={'TEMPLATE_API_KEY': cloud.key}, code=1).json()
    assert 'a page does not state its kind' in failed(report)['list template.node, template.disk in one call']


def test_aws_passes(tmp_path):
    with Sim('--boot-ms', '50', '--shutdown-ms', '50') as sim:
        told = check(tmp_path, os.path.join(BUILD, 'providers/aws.so'), '--region', 'us-east-1',
                     '--type', 'm5.large', env={**sim.env(), 'RAYGPU_LOOPBACK_WAIT_S': '1'})
        assert ' 0 failed, 0 skipped\n' in told.out
        assert 'pass  create aws.instance, two in one call, the same token: the same resources\n' in told.out
        assert not sim.live_instances()


@pytest.mark.parametrize('name, why', [
    ('odd_newer', 'was built for provider ABI 2, this raygpu has 1'),
    ('odd_nosym', 'is not a raygpu provider'),
    ('odd_badshape', '"kinds" is missing'),
    ('odd_undefined', 'undefined symbol'),
])
def test_refused_modules_say_why(tmp_path, name, why):
    report = check(tmp_path, odd(name), '--json', code=1).json()
    assert not report['ok'] and report['failed'] == 1
    assert why in failed(report)['loads, and its schema is valid']


@pytest.mark.parametrize('name, why', [
    ('odd_falls', 'the module ended the process: '),
    ('odd_exits', 'the module ended the process with exit code 7'),
])
def test_a_module_that_falls_takes_only_its_step_with_it(tmp_path, name, why):
    report = check(tmp_path, odd(name), '--region', 'r', '--type', 't', '--json', code=1).json()
    step, text = list(failed(report).items())[-1]
    assert step == 'after "account reports the same account twice"' and text.startswith(why), report


@pytest.mark.parametrize('name, step, why', [
    ('odd_chdir', 'leaves the process as it was', 'it changed the working directory to /'),
    ('odd_umask', 'leaves the process as it was', 'it changed the umask to 123'),
    ('odd_locale', 'leaves the process as it was', 'it changed the locale to C.UTF-8'),
    ('odd_setenv', 'leaves the process as it was', 'it changed the environment'),
    ('odd_signal', 'leaves the process as it was', 'it changed the handling of the signal "User defined signal 2"'),
    ('odd_sigmask', 'leaves the process as it was', 'it changed the handling of the signal "User defined signal 1"'),
    ('odd_forks', 'leaves the process as it was', 'it left a process behind'),
    ('odd_prints', 'prints nothing', 'it wrote to standard output or standard error: use host->log'),
])
def test_a_module_that_touches_its_host_is_told(tmp_path, name, step, why):
    report = check(tmp_path, odd(name), '--region', 'r', '--json', code=1).json()
    assert failed(report)[step] == why, report


def test_a_module_that_never_comes_back_is_ended(tmp_path):
    report = check(tmp_path, odd('odd_hangs'), '--region', 'r', '--wait', '1', '--json', code=1).json()
    assert 'did not return from a call' in list(failed(report).values())[-1], report


def test_a_liar_is_caught_and_cleaned_up(tmp_path, modules):    # pylint: disable=redefined-outer-name
    class Forgetful(Cloud):
        """Forgets tokens, so that each create makes new nodes; reports labels that nobody set."""
        def create(self, body):
            self.tokens.clear()
            reply = super().create(body)
            for node in reply['nodes']:
                node['labels'] = {'made-by': 'me'}
            return reply

    with Forgetful() as cloud:
        report = check(tmp_path, os.path.join(modules, 'template.so'), '--region', 'north', '--endpoint',
                       cloud.url, '--json', env={'TEMPLATE_API_KEY': cloud.key}, code=1).json()
        bad = failed(report)
        assert 'create resources twice' in bad['create template.node, the same token: the same resources']
        assert 'every plan would show drift' in bad['list template.node: all, with address, as created']


@pytest.mark.parametrize('find, step, why', [
    (lambda node, query: node['marks']['cluster'] == query['cluster'] and node['marks']['lineage'] == 'ff',
     "the cluster's name under another lineage", 'under a name that is taken'),
    (lambda node, query: True, 'nothing of another cluster', "resources with another cluster's name")])
def test_a_list_that_is_not_by_name_is_caught(tmp_path, modules, find, step, why):  # pylint: disable=redefined-outer-name
    class Odd(Cloud):
        def page(self, query):
            if 'cluster' not in query:
                return super().page(query)
            return {'nodes': [node for node in self.nodes.values() if find(node, query)], 'next': None}

    with Odd() as cloud:
        report = check(tmp_path, os.path.join(modules, 'template.so'), '--region', 'north', '--endpoint',
                       cloud.url, '--json', env={'TEMPLATE_API_KEY': cloud.key}, code=1).json()
        assert why in failed(report)['list template.node: ' + step]


def test_what_import_could_not_take_in_is_caught(tmp_path, modules):    # pylint: disable=redefined-outer-name
    class Marked(Cloud):
        """Finds a node by its id only after a request with the marks' cluster."""
        def answer(self, method, path, query, body):
            if method == 'GET' and path.startswith('/v1/nodes/') and 'cluster=raygpu-check-2' in self.requests[-2][1]:
                raise Refused(404, 'not_found')
            return super().answer(method, path, query, body)

    with Marked() as cloud:
        report = check(tmp_path, os.path.join(modules, 'template.so'), '--region', 'north', '--endpoint',
                       cloud.url, '--json', env={'TEMPLATE_API_KEY': cloud.key}, code=1).json()
        assert failed(report) == {
            'list template.node by its id alone, for import': 'it is not reported: nothing could be imported'}


def test_roles_that_say_something_else_are_caught(tmp_path, installed):    # pylint: disable=redefined-outer-name
    def change(name, text):
        for old, new in {'"role": "zone", ': '', '"private_ip": {': '"private_ip": {"role": "zone", '}.items():
            assert name != 'schema.json' or old in text
            text = text.replace(old, new) if name == 'schema.json' else text
        return text

    module = build_template(installed, tmp_path, change) + '/template.so'
    with Cloud() as cloud:
        report = check(tmp_path, module, '--region', 'north', '--endpoint', cloud.url, '--json',
                       env={'TEMPLATE_API_KEY': cloud.key}, code=1).json()
        (step, why), = failed(report).items()
        assert step == 'list template.node: roles describe a node'
        assert why.startswith('private_ip, which has the role "zone", is "10.0.0.'), why


def test_usage(tmp_path):
    assert 'requires the file of a module' in check(tmp_path, code=4).err
    assert 'must be a file that ends in .so' in check(tmp_path, 'nothing.so', code=4).err
    assert '--config' in check(tmp_path, odd('odd_sound'), '--config', '[]', code=4).err
    copy = shutil.copy(odd('odd_sound'), tmp_path)
    told = check(tmp_path, copy, code=1)
    assert 'skip  calls\n' in told.out and '--region' in told.out and 'no kind of the schema' in told.out
