"""What CI systems read: each test names the reader and the source of its expectations."""
import json
import os
import re
import xml.etree.ElementTree as ElementTree

import pytest
from program import Home, spec
from shared import sim  # noqa: F401
from sim_server import tags_of
from terminal import Terminal

POOLS = {'train': ('A100:8', 2), 'serve': ('T4:1', 3)}

# runatlantis/atlantis @078d0a82, server/events/models/models.go:527-561
ATLANTIS_PLAN = re.compile(r'Plan: (?:(\d+) to import, )?(\d+) to add, (\d+) to change, (\d+) to destroy'
                           r'(?:, (\d+) to forget)?\.')
ATLANTIS_NONE = re.compile(r'No changes. (Infrastructure is up-to-date|Your infrastructure matches the '
                           r'configuration).')
# suzuki-shunsuke/tfcmt @19ae3d2f, pkg/terraform/parser.go:65-92
TFCMT = {
    'pass': re.compile(r'(?m)^(Plan: \d|No changes.)'),
    'fail': re.compile(r'(?m)^([│|] )?(Error: )'),
    'warning': re.compile(r'(?m)^([│|] )?(Warning: )'),
    'destroy': re.compile(r'(?m)([1-9][0-9]* to destroy.)'),
    'none': re.compile(r'(?m)^(No changes.)'),
    'create': re.compile(r'(?m)^ *# (.*) will be created$'),
    'update': re.compile(r'(?m)^ *# (.*) will be updated in-place$'),
    'delete': re.compile(r'(?m)^ *# (.*) will be destroyed$'),
    'replace': re.compile(r'(?m)^ *# (.*?)(?: is tainted, so)? must be replaced$'),
}


@pytest.fixture
def home(tmp_path, sim):
    sim.reset()
    home = Home(tmp_path, {**sim.env(), 'GITHUB_STEP_SUMMARY': ''})
    home.write('cluster.yaml', spec(pools=POOLS))
    return home


@pytest.fixture
def changed(sim, home):
    """Applied; then a node terminated, a tag moved, a pool shrunk, another label in the spec."""
    home.apply()
    nodes = [i for i in sim.live_instances() if tags_of(i)['raygpu:pool'] == 'serve']
    sim.ok('CreateTags', {'ResourceId.1': nodes[0]['instanceId'], 'Tag.1.Key': 'team', 'Tag.1.Value': 'x'})
    sim.ok('TerminateInstances', {'InstanceId.1': nodes[1]['instanceId']})
    sim.settle()
    home.write('cluster.yaml', spec(pools={**POOLS, 'train': ('A100:8', 1)}).replace('team: ml', 'team: v'))
    return home


def actions(document):
    return [a for c in document['resource_changes'] for a in c['change']['actions']]


def test_tfcmt_and_atlantis_read_a_first_plan(home):
    text = home.run('plan').out
    assert ATLANTIS_PLAN.search(text).groups() == (None, '9', '0', '0', None)
    assert TFCMT['pass'].search(text) and not TFCMT['fail'].search(text) and not TFCMT['destroy'].search(text)
    created = TFCMT['create'].findall(text)
    assert len(created) == 9 and 'aws.instance.serve[2]' in created


def test_tfcmt_and_atlantis_read_every_action(changed):
    text = changed.run('plan', '--no-settle', '--replace', 'aws.instance.head').out
    document = changed.run('plan', '--no-settle', '--replace', 'aws.instance.head', '--format', 'json').json()
    by = {kind: sorted(c['address'] for c in document['resource_changes'] if c['change']['actions'] == [kind])
          for kind in ('create', 'update', 'delete')}
    assert by['create'] and by['update'] and by['delete']
    for kind, addresses in by.items():
        assert sorted(TFCMT[kind].findall(text)) == addresses
    all_of = actions(document)
    assert [int(n) for n in ATLANTIS_PLAN.search(text).groups()[1:4]] == \
        [all_of.count('create'), all_of.count('update'), all_of.count('delete')]
    assert TFCMT['destroy'].search(text)


def test_tfcmt_and_atlantis_read_no_changes_and_errors(home):
    home.apply()
    text = home.run('plan').out
    assert ATLANTIS_NONE.search(text) and TFCMT['none'].search(text)
    home.write('cluster.yaml', 'cluster: x\npools: 3\n')
    assert TFCMT['fail'].search(home.run('plan', code=4).err)


def test_a_conftest_policy_reads_show_json(changed):
    """Rego in the wild: deny[msg] { c := input.resource_changes[_]; c.type == "..."; c.change.actions[_] ==
    "delete" } and c.change.after.instance_type in a list."""
    changed.run('plan', '--no-settle', '--out', 'p.json')
    document = changed.run('show', 'p.json', '--json').json()
    deny = [c['address'] for c in document['resource_changes']
            if c['type'] == 'aws.instance' and 'delete' in c['change']['actions']]
    assert deny == ['aws.instance.train[1]']
    types = {c['change']['after']['instance_type'] for c in document['resource_changes']
             if c['type'] == 'aws.instance' and c['change']['after']}
    assert {'g4dn.xlarge', 'p4d.24xlarge'} <= types


def test_gitlab_counts_are_those_of_its_documentation(changed):
    """docs.gitlab.com, "Terraform integration": jq over resource_changes[].change.actions."""
    changed.run('plan', '--no-settle', '--replace', 'aws.instance.head', '--report-gitlab', 'g.json',
                '--report', 'json=p.json')
    all_of = actions(json.loads(changed.read('p.json')))
    assert json.loads(changed.read('g.json')) == {kind: all_of.count(kind)
                                                  for kind in ('create', 'update', 'delete')}
    changed.run('drift', '--no-settle', '--report-gitlab', 'd.json', code=2)
    assert json.loads(changed.read('d.json')) == {'create': 1, 'update': 1, 'delete': 0}


def test_text_and_json_in_one_run(home):
    plain = home.run('plan')
    both = home.run('plan', '--report', 'json=p.json')
    assert both.out == plain.out
    assert json.loads(home.read('p.json')) == home.run('plan', '--format', 'json').json()
    assert os.stat(home.path('p.json')).st_mode & 0o777 == 0o600


def sarif_shape(document):
    """Required members of SARIF 2.1.0 (OASIS, 3.13 to 3.30) and those that GitHub code scanning requires."""
    assert document['version'] == '2.1.0' and len(document['runs']) == 1
    run = document['runs'][0]
    driver = run['tool']['driver']
    assert driver['name'] == 'raygpu'
    rules = [rule['id'] for rule in driver['rules']]
    assert len(set(rules)) == len(rules)
    for result in run['results']:
        assert result['ruleId'] in rules and result['level'] in ('error', 'warning', 'note')
        assert result['message']['text']
        place = result['locations'][0]['physicalLocation']
        assert place['artifactLocation']['uri'] == 'cluster.yaml'
        assert place['region']['startLine'] >= 1 and place['region']['startColumn'] >= 1
        assert list(result['partialFingerprints'].values())[0]
    prints = [tuple(r['partialFingerprints'].values()) for r in run['results']]
    assert len(set(prints)) == len(prints)
    return run['results']


def test_sarif_of_plan_drift_and_a_bad_spec(changed):
    results = sarif_shape(changed.run('plan', '--no-settle', '--format', 'sarif').json())
    assert {r['ruleId'] for r in results} == {'plan.create', 'plan.update', 'plan.delete'}
    levels = [r['level'] for r in results]
    assert levels == sorted(levels, key=['error', 'warning', 'note'].index)
    results = sarif_shape(changed.run('drift', '--no-settle', '--format', 'sarif', code=2).json())
    assert {r['ruleId'] for r in results} == {'drift.missing', 'drift.changed'}
    lines = changed.read('cluster.yaml').split('\n')
    for result in results:
        assert 'serve' in lines[result['locations'][0]['physicalLocation']['region']['startLine'] - 1]
    changed.write('cluster.yaml', changed.read('cluster.yaml').replace('T4:1', 'T5:1'))
    bad = changed.run('plan', '--format', 'sarif', code=None)
    assert bad.code not in (0, 2)
    assert sarif_shape(bad.json())[0]['level'] == 'error'


def junit_shape(text):
    root = ElementTree.fromstring(text)
    assert root.tag == 'testsuites'
    suite = root.find('testsuite')
    cases = suite.findall('testcase')
    assert int(suite.get('tests')) == len(cases)
    for word, tag in (('failures', 'failure'), ('errors', 'error'), ('skipped', 'skipped')):
        assert int(suite.get(word)) == len(suite.findall(f'testcase/{tag}')), word
    assert all(case.get('name') and case.get('classname') for case in cases)
    return {case.get('name'): [child.tag for child in case] for case in cases}


def test_junit_of_plan_and_drift(changed):
    cases = junit_shape(changed.run('plan', '--no-settle', '--format', 'junit').out)
    assert cases['aws.instance.train[1]'] == ['skipped'] and cases['raygpu.secret.ray_token'] == []
    cases = junit_shape(changed.run('drift', '--no-settle', '--format', 'junit', code=2).out)
    assert cases['aws.instance.serve[1]'] == ['failure'] and cases['7 resources are as recorded'] == []
    changed.write('cluster.yaml', 'cluster: x\npools: "<&>"\n')
    assert ['error'] in junit_shape(changed.run('plan', '--format', 'junit', code=4).out).values()


def commands(text):
    """Workflow commands as GitHub's runner sees them: none between stop-commands and its word."""
    out, stop = [], None
    for line in text.split('\n'):
        if stop:
            stop = None if line == f'::{stop}::' else stop
        elif line.startswith('::stop-commands::'):
            stop = line.split('::')[2]
        elif line.startswith('::'):
            kind, properties, message = re.match(r'::(\w+) ([^:]*)::(.*)', line).groups()
            out.append((kind, dict(p.split('=', 1) for p in properties.split(',')), message))
    assert not stop
    return out


def test_github_shows_ten_of_a_kind_at_most(home):
    """orgs/community discussions 68471 and 26680: 10 annotations of each kind per step, the rest dropped."""
    home.write('cluster.yaml', spec(pools={f'p{i}': 2 for i in range(15)}))
    found = commands(home.run('plan', '--format', 'github').out)
    assert {kind for kind, _, _ in found} == {'notice'}
    assert len(found) == 10 and '9' not in found[-1][2].split()[0]
    assert re.match(r'\d+ more of this kind', found[-1][2])
    placed = [p for _, p, _ in found if 'file' in p]
    assert placed and all(p['file'] == 'cluster.yaml' and int(p['line']) >= 1 for p in placed)


def test_github_annotations_of_drift_and_errors(changed):
    found = commands(changed.run('drift', '--no-settle', '--format', 'github', code=2).out)
    assert [kind for kind, _, _ in found] == ['warning', 'warning']
    assert all('serve' in changed.read('cluster.yaml').split('\n')[int(p['line']) - 1] for _, p, _ in found)
    changed.write('cluster.yaml', spec(pools={'a': 1}) + 'nodez: "50%\\n::error::x"\n')
    found = commands(changed.run('plan', '--format', 'github', code=4).out)
    assert found[0][0] == 'error' and found[0][1]['line'] == '8'
    assert len(found) == 1


def test_the_step_summary_keeps_to_one_mebibyte(home):
    """docs.github.com, workflow commands: a step summary above 1 MiB is rejected completely."""
    summary = home.write('summary.md', '')
    home.run('plan', '--format', 'github', env={'GITHUB_STEP_SUMMARY': summary})
    assert 'Plan: 9 to add' in home.read('summary.md')
    home.write('summary.md', 'x' * (2**20 - 6000))
    home.run('plan', '--format', 'github', env={'GITHUB_STEP_SUMMARY': summary})
    assert 2**20 - 6000 < os.path.getsize(summary) <= 2**20
    home.write('summary.md', 'x' * (2**20 - 100))
    home.run('plan', '--format', 'github', env={'GITHUB_STEP_SUMMARY': summary})
    assert os.path.getsize(summary) == 2**20 - 100


def test_markdown_is_one_comment(home):
    text = home.run('plan', '--format', 'markdown').out
    assert text.startswith('<!-- raygpu:plan:research -->\n')
    assert '**Plan: 9 to add, 0 to change, 0 to destroy.**' in text
    assert '| train | p4d.24xlarge | on-demand | 0 → 2 | A100 0 → 16 | $0.00 → $43.92 |' in text
    assert text.count('<details>') == text.count('</details>') == 1
    fenced = text.split('```diff\n')[1].split('```')[0]
    assert '\n+  + resource "aws.instance" "train" {' in fenced
    assert '  # aws.instance.train[1] will be created' in fenced


def test_a_comment_of_two_thousand_nodes_fits(home):
    """GitHub rejects a comment above 65,536 characters; examples/ci adds to it."""
    home.write('cluster.yaml', spec(pools={'a': ('A100:8', 1200), 'b': ('V100-32GB:8', 800)}))
    text = home.run('plan', '--format', 'markdown').out
    assert 55000 < len(text.encode()) <= 60000
    assert text.count('```') == 2
    assert "more lines are in the job's log" in text
    assert 'Plan: 2004 to add' in text.split('<details>')[0]


def test_a_wrong_format_is_a_usage_error(home):
    assert '--format requires one of text|json' in home.run('plan', '--format', 'html', code=4).err
    assert 'not both' in home.run('drift', '--format', 'junit', '--json', code=4).out


def test_a_saved_plan_is_reported_as_it_was_when_it_was_made(home):
    made = home.run('plan', '--out', 'p.json', '--format', 'markdown')
    assert home.run('show', 'p.json', '--format', 'markdown').out == made.out
    assert 'only --format text and json' in home.run('show', '--format', 'sarif', code=4).err


def test_lines_fit_80_columns(changed):
    for command in ('plan', 'drift'):
        result = changed.run(command, '--no-settle', code=None)
        for line in (result.out + result.err).split('\n'):
            assert len(line) <= 80, line


def test_the_question_and_the_live_line_on_a_terminal(sim, home):
    terminal = Terminal(home, 'apply')
    terminal.read_until(b'Enter a value: ')
    assert b'\033[32m' in terminal.seen, 'colours'
    assert not sim.live_instances()
    os.write(terminal.master, b'yes\n')
    terminal.read_until(b'Apply complete! Resources: 9 added')
    assert terminal.finish() == 0
    live = terminal.seen.split(b'Enter a value: ')[1]
    assert b'\r\033[K' in live and re.search(rb'\d of 9 done  network \d/\d', live)
    assert b'Creating...' not in live
    assert len(sim.live_instances()) == 6


def test_the_elapsed_time_moves_every_second_on_a_terminal(sim, home):
    sim.knobs(boot_ms=2600)
    terminal = Terminal(home, 'apply', '--auto-approve')
    terminal.read_until(b'Apply complete!')
    assert terminal.finish() == 0
    sim.knobs(boot_ms=20)
    seconds = [int(word) for word in re.findall(rb'(?:\r\x1b\[K|\n) *(\d+)s  \d of \d done', terminal.seen)]
    assert {0, 1, 2} <= set(seconds), terminal.seen


def test_another_answer_changes_nothing(sim, home):
    terminal = Terminal(home, 'apply')
    terminal.read_until(b'Enter a value: ')
    os.write(terminal.master, b'y\n')
    terminal.read_until(b'cancelled')
    assert terminal.finish() != 0
    assert not sim.live_instances()


@pytest.mark.parametrize('word', ['https://evil.example/x', 'HTTP://evil.example', 'www.evil.example', 'me@evil.example',
                                  '@octocat', 'a`b@c', '``@x`', '<b>@x|y</b>', '![x](https://evil.example/x.png)'])
def test_markdown_makes_no_link_of_a_word(home, word):
    """github.github.com/gfm, 6.9 "Autolinks (extension)"; mentions too. In code spans there are none."""
    home.write('cluster.yaml', spec(pools={'a': 1}).replace('m5.2xlarge', json.dumps(f'x {word} y')))
    home.write('other.yaml', spec(pools={'a': 1}).replace('cluster: research', f'cluster: {json.dumps(word)}'))
    for arguments in (['cluster.yaml'], ['other.yaml'], ['cluster.yaml', 'other.yaml']):
        text = home.run('plan', *arguments, '--format', 'markdown', code=4).out
        text = re.sub(r'(?ms)^(`{3,})diff\n.*?^\1$', '', text)
        text = re.sub(r'<!--.*?-->', '', text)
        text = re.sub(r'(?s)<code>.*?</code>', 'CODE', text)
        text = re.sub(r'(?s)(?<![`\\])(`+)(?!`)(.*?)(?<!`)\1(?!`)', 'CODE', text)
        assert 'CODE' in text and '@' not in text and '://' not in text.lower() and 'www.' not in text, text
        assert not re.search(r'(?<!\\)<(?!/?(details|summary)>)', text), text
