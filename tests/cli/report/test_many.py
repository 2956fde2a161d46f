"""plan and drift of several clusters at once: one report, the worst exit code, no cluster stops another."""
import json
import os
import xml.etree.ElementTree as ElementTree

import pytest
from program import Home, spec
from report_schemas import validator
from shared import sim  # noqa: F401


@pytest.fixture
def home(tmp_path, sim):
    """Three specs: a is new, b is applied and unchanged, c is applied and grows."""
    sim.reset()
    home = Home(tmp_path, {**sim.env(), 'GITHUB_STEP_SUMMARY': ''})
    home.env['RAYGPU_STATE'] = '.raygpu/state.db'  # of all specs, which are in a folder without git
    os.mkdir(home.path('c'))
    home.write('c/a.yaml', spec('a', pools={'train': ('A100:8', 1)}))
    home.write('c/b.yaml', spec('b'))
    home.write('c/c.yaml', spec('c'))
    home.apply('c/b.yaml')
    home.apply('c/c.yaml')
    home.write('c/c.yaml', spec('c', pools={'serve': 2}))
    return home


def break_b(home):
    home.write('c/b.yaml', spec('b').replace('nodes: 1', 'noodles: 1'))


def rows(text):
    """{cluster: words} of the last table."""
    table = text.rsplit('CLUSTER', 1)[1].split('\n\n')[0].split('\n')[1:]
    return {line.split()[0]: line.split()[1:] for line in table}


def test_the_text_has_each_plan_then_a_table(home):
    result = home.run('plan', 'c', '--detailed-exitcode', code=2)
    order = [result.out.index(f'Cluster {name} (c/{name}.yaml)') for name in 'abc']
    assert order == sorted(order)
    table = rows(result.out)
    assert table['a'][:4] == ['5', '0', '0', '0'] and table['a'][-1] == 'changes'
    assert table['b'][-2:] == ['no', 'changes'] and table['b'][:4] == ['0'] * 4
    assert table['c'][:4] == ['1', '0', '0', '0']
    assert table['a'][4:7] == ['0', '->', '8'] and table['total'][4:7] == ['2', '->', '11']
    assert 'GPUs of all clusters: A100 0 -> 8, T4 2 -> 3' in result.out
    assert result.out.rstrip().endswith('All 3 clusters: 6 to add, 0 to change, 0 to destroy.')
    assert [line for line in result.err.split('\n') if line.startswith('[')] == \
        ['[1/3] a (c/a.yaml)', '[2/3] b (c/b.yaml)', '[3/3] c (c/c.yaml)']
    assert all(len(line) <= 80 for line in result.out.split('\n'))
    alone = home.run('plan', 'c/c.yaml').out
    assert alone in result.out, 'the text of each is that of its own plan'


def test_the_sums_are_those_of_the_single_plans(home):
    whole = home.run('plan', 'c', '--format', 'json').json()
    validator('plans.schema.json').validate(whole)
    assert [p['cluster'] for p in whole['plans']] == ['a', 'b', 'c']
    for item in whole['plans']:
        assert item['plan'] == home.run('plan', item['spec'], '--format', 'json').json()
    assert whole['totals']['counts'] == {'add': 6, 'change': 0, 'replace': 0, 'destroy': 0}
    for key in ('before', 'after'):
        assert whole['totals']['microusd_hour'][key] == sum(p['microusd_hour'][key] for p in whole['plans'])
    assert whole['totals']['gpus'] == {'A100': {'before': 0, 'after': 8}, 'T4': {'before': 2, 'after': 3}}
    assert whole['exit_code'] == 0 and [p['status'] for p in whole['plans']] == \
        ['changes', 'no-changes', 'changes']
    assert home.run('plan', 'c', '--format', 'json').out == home.run('plan', 'c', '--format', 'json').out


def test_one_failing_cluster_stops_no_other_and_is_named_at_the_end(home):
    break_b(home)
    result = home.run('plan', 'c', '--detailed-exitcode', code=4)
    assert rows(result.out)['b'] == ['-'] * 6 + ['failed'] and rows(result.out)['c'][0] == '1'
    end = ' '.join(result.out.split('Cluster c')[1].split())
    assert 'b failed:' in end
    assert 'spec.' in end and '; 1 failed.' in end
    assert 'c/b.yaml:7' in result.err
    whole = home.run('plan', 'c', '--format', 'json', code=4).json()
    validator('plans.schema.json').validate(whole)
    broken = whole['plans'][1]
    assert broken['status'] == 'failed' and broken['plan'] is None and broken['exit_code'] == 4
    assert any(d['code'].startswith('spec.') for d in broken['diagnostics'])


def test_a_cloud_that_fails_for_one_is_the_worst_exit_code(sim, home):
    home.write('c/d.yaml', spec('d', region='us-west-2'))
    home.write('c/a.yaml', spec('a') + 'noodles: 1\n')
    sim.fault(action='DescribeImages', status=403, code='UnauthorizedOperation', count=100)
    result = home.run('plan', 'c', '--format', 'json', '--detailed-exitcode', code=None)
    sim.faults_clear()
    codes = {p['cluster']: p['exit_code'] for p in result.json()['plans']}
    assert codes['a'] == 4 and codes['d'] == 7 and result.code == 4
    assert codes['b'] in (0, 7)


def test_text_and_document_in_one_run(home):
    break_b(home)
    home.run('plan', 'c', '--report', 'json=all.json', code=4)
    assert json.loads(home.read('all.json')) == home.run('plan', 'c', '--format', 'json', code=4).json()


def test_junit_has_a_suite_a_cluster(home):
    break_b(home)
    root = ElementTree.fromstring(home.run('plan', 'c', '--format', 'junit', code=4).out)
    suites = {suite.get('name'): suite for suite in root}
    assert list(suites) == ['raygpu plan a', 'raygpu plan b', 'raygpu plan c']
    for word in ('tests', 'failures', 'errors', 'skipped'):
        assert int(root.get(word)) == sum(int(suite.get(word)) for suite in root)
    assert int(suites['raygpu plan b'].get('errors')) >= 1
    names = [case.get('classname') for case in suites['raygpu plan c']]
    assert 'c.aws.instance' in names


def test_sarif_is_one_run_with_every_file(home):
    break_b(home)
    document = home.run('plan', 'c', '--format', 'sarif', code=4).json()
    run, = document['runs']
    files = {r['locations'][0]['physicalLocation']['artifactLocation']['uri'] for r in run['results']}
    assert files == {'c/a.yaml', 'c/b.yaml', 'c/c.yaml'}
    prints = [tuple(r['partialFingerprints'].values()) for r in run['results']]
    assert len(set(prints)) == len(prints), 'equal addresses of two clusters are two findings'
    assert run['results'][0]['level'] == 'error'


def test_github_annotates_ten_of_a_kind_over_all_clusters(home):
    for i in range(15):
        home.write(f'c/x{i}.yaml', spec(f'x{i}'))
    text = home.run('plan', 'c', '--format', 'github', env={'GITHUB_STEP_SUMMARY': home.path('sum.md')}).out
    body, annotations = text.split('::stop-commands::')[1][64:].rsplit('\n::', 1)[0], text
    lines = [line for line in annotations.split('\n') if line.startswith('::notice ')]
    assert len(lines) == 10 and 'more of this kind' in lines[-1]
    assert any('file=c/a.yaml' in line for line in lines) and 'Cluster x14' in body
    assert '<!-- raygpu:plan:* -->' in home.read('sum.md')


def test_markdown_is_one_comment_within_githubs_limit(home):
    text = home.run('plan', 'c', '--format', 'markdown').out
    assert text.startswith('<!-- raygpu:plan:* -->\n')
    assert '| c | 1 | 0 | 0 |' in text and '| b | 0 | 0 | 0 |' in text
    assert text.count('<details>') == 2, 'b has nothing to tell'
    for i in range(60):
        home.write(f'c/big{i}.yaml', spec(f'big{i}', pools={'p': ('A100:8', 100)}))
    text = home.run('plan', 'c', '--format', 'markdown').out
    assert 50000 < len(text.encode()) <= 60000
    assert text.count('<details>') == text.count('</details>') == 62
    assert text.count('```diff') == 62 and '| big59 |' in text


def test_gitlab_counts_are_the_sums(home):
    home.run('plan', 'c', '--report-gitlab', 'g.json')
    assert json.loads(home.read('g.json')) == {'create': 6, 'update': 0, 'delete': 0}


def test_out_is_a_folder_with_a_plan_a_cluster(home):
    result = home.run('plan', 'c', '--out', 'plans')
    assert sorted(os.listdir(home.path('plans'))) == ['a.json', 'b.json', 'c.json']
    assert 'raygpu apply plans' in result.out
    assert home.run('show', 'plans/c.json', '--json').json() == home.run('plan', 'c/c.yaml', '--format', 'json').json()
    assert 'is not empty' in home.run('plan', 'c', '--out', 'plans', code=4).err
    break_b(home)
    home.run('plan', 'c', '--out', 'more', code=4)
    assert sorted(os.listdir(home.path('more'))) == ['a.json', 'c.json']


def test_what_means_one_cluster_is_refused(home):
    for option in (('--target', 'aws.instance.head'), ('--replace', 'aws.instance.head'),
                   ('--exclude', 'aws.instance.head'), ('--destroy',)):
        assert 'usage.conflict' in home.run('plan', 'c', *option, code=4).err
    assert 'usage.conflict' in home.run('plan', 'c', '--cluster', 'a', code=4).err
    home.write('c/again.yaml', spec('a'))
    result = home.run('plan', 'c', code=4)
    assert 'c/a.yaml:1 and at c/again.yaml:1' in ' '.join((result.out + result.err).split())
    assert not result.out, 'nothing is planned'


def test_drift_of_several(sim, home):
    clean = home.run('drift', 'c')
    assert 'a has not been applied yet' in clean.err and rows(clean.out)['b'][-1] == 'drift'
    assert clean.out.rstrip().endswith('All 3 clusters: no drift.')
    node = next(i for i in sim.live_instances() if any(
        t['key'] == 'raygpu:cluster' and t['value'] == 'c' for t in i['tagSet']))
    sim.ok('TerminateInstances', {'InstanceId.1': node['instanceId']})
    sim.settle()
    result = home.run('drift', 'c', '--no-settle', code=2)
    assert rows(result.out)['c'] == ['1', '0', '0', 'drift']
    whole = home.run('drift', 'c', '--no-settle', '--format', 'json', code=2).json()
    validator('drifts.schema.json').validate(whole)
    assert [d['status'] for d in whole['drifts']] == ['no-drift', 'no-drift', 'drift']
    assert whole['drifts'][2]['drift'] == home.run('drift', 'c/c.yaml', '--no-settle', '--format', 'json', code=2).json()
    break_b(home)
    assert home.run('drift', 'c', '--no-settle', '--format', 'json', code=4).json()['exit_code'] == 4
    empty = home.run('drift', 'c', '--state', 'typo.db', code=4)
    assert 'was never applied with the state' in empty.err, 'a mistyped state is not "no drift"'


def test_a_branch_plans_what_it_touches_and_says_what_it_orphans(sim, home):
    home.git('init', '-q', '-b', 'main')
    home.write('.gitignore', '.raygpu/\n')
    home.git('add', '-A')
    home.git('commit', '-qm', 'all')
    home.write('c/a.yaml', spec('a'))
    home.git('rm', '-q', 'c/b.yaml')
    result = home.run('plan', 'c', '--changed-since', 'main', '--detailed-exitcode', code=2)
    assert 'Cluster a' in result.out and 'Cluster c' not in result.out
    assert '1 unchanged spec skipped' in result.out
    err = ' '.join(result.err.split())
    assert 'cluster b was removed, but the cluster keeps running and costs money' in err
    assert 'destroy --cluster b' in err and '$0.91 per hour' in err
    assert rows(result.out + '\n\n')['b'][-4:] == ['spec', 'removed,', 'runs', 'on']
    whole = home.run('plan', 'c', '--changed-since', 'main', '--format', 'json').json()
    validator('plans.schema.json').validate(whole)
    assert [(r['cluster'], r['spec']) for r in whole['removed']] == [('b', 'c/b.yaml')]
    assert whole['removed'][0]['recorded'] == 5 and whole['untouched'] == 1
    text = home.run('plan', 'c', '--changed-since', 'main', '--format', 'markdown').out
    assert 'keeps running and costs money' in text
    cases = home.run('plan', 'c', '--changed-since', 'main', '--format', 'junit').out
    assert 'raygpu.removed' in cases
    home.git('add', '-A')
    home.git('commit', '-qm', 'more')
    assert 'No spec has changed.' in home.run('plan', 'c', '--changed-since', 'HEAD', '--detailed-exitcode').out
    assert home.run('plan', 'c', '--changed-since', 'HEAD', '--format', 'json').json()['plans'] == []


def test_an_interrupt_reports_what_there_is(sim, home):
    sim.knobs(latency_ms=3000)
    process = home.start('plan', 'c', '--format', 'json')
    assert process.stderr.readline().startswith('[1/3]')
    process.terminate()
    out, _ = process.communicate(timeout=60)
    sim.knobs(latency_ms=0)
    assert process.returncode == 130
    document = json.loads(out)
    validator('plans.schema.json').validate(document)
    assert [p['status'] for p in document['plans']] == ['failed', 'not-run', 'not-run']
    assert document['exit_code'] == 130


def test_reports_beside_what_is_printed(home):
    """--report FORMAT=FILE: one plan, several readers."""
    plain = home.run('plan', 'c')
    result = home.run('plan', 'c', '--report', 'markdown=m.md', '--report', 'junit=j.xml', '--report', 'json=j.json')
    assert result.out == plain.out
    assert home.read('m.md') == home.run('plan', 'c', '--format', 'markdown').out
    assert home.read('j.xml') == home.run('plan', 'c', '--format', 'junit').out
    assert home.read('j.json') == home.run('plan', 'c', '--format', 'json').out
    home.run('plan', 'c/a.yaml', '--report', 'sarif=s.json')
    assert json.loads(home.read('s.json'))['version'] == '2.1.0'
    for word in ('junit', 'junit=', 'text=x', 'html=x', '=x'):
        assert 'requires FORMAT=FILE' in home.run('plan', 'c', '--report', word, code=4).err
    assert "cannot be written" in home.run('plan', 'c', '--report', 'junit=no/j.xml', code=1).err
