"""apply and destroy of several clusters: one summary, one prompt, one after the other; --json."""
import json
import os

import events
import pytest
from program import Home, spec
from shared import sim  # noqa: F401
from terminal import Terminal


@pytest.fixture
def home(tmp_path, sim):
    sim.reset()
    home = Home(tmp_path, {**sim.env(), 'GITHUB_STEP_SUMMARY': ''})
    home.env['RAYGPU_STATE'] = '.raygpu/state.db'  # of all specs, which are in a folder without git
    os.mkdir(home.path('c'))
    for name in 'abc':
        home.write(f'c/{name}.yaml', spec(name))
    return home


def clusters_of(sim):
    return sorted({tag['value'] for i in sim.live_instances() for tag in i['tagSet']
                   if tag['key'] == 'raygpu:cluster'})


def document(home, *arguments, code=0):
    result = home.run(*arguments, '--json', code=code)
    value = result.summary()
    assert value['exit_code'] == code and result.err == ''
    return value, {c['cluster']: {**c, 'diagnostics': result.told(c['cluster'])} for c in value['clusters']}


def test_a_folder_is_applied_cluster_by_cluster(sim, home):
    result = home.apply('c')
    assert clusters_of(sim) == ['a', 'b', 'c']
    assert result.out.count('Apply complete! Resources: 5 added') == 3
    assert result.out.index('All 3 clusters: 15 to add') < result.out.index('Apply complete!')
    assert '3 of 3 clusters are done' in result.out
    turns = [line for line in result.err.split('\n') if line.startswith('[')]
    assert turns == [f'[{i}/3] {n} (c/{n}.yaml)' for i, n in enumerate('abc', 1)] * 2
    again = home.apply('c')
    assert 'All 3 clusters: no changes.' in again.out and again.out.count('nothing to do') == 3
    home.run('plan', 'c', '--detailed-exitcode')


def test_without_approval_nothing_is_done(sim, home):
    assert 'apply.no-terminal' in home.run('apply', 'c', code=4).err
    assert not sim.live_instances()


def test_one_question_for_all(sim, home):
    home.write('c/b.yaml', 'cluster: b\nnoodles: 1\n')
    terminal = Terminal(home, 'apply', 'c')
    terminal.read_until(b'Enter a value: ')
    assert b'perform these actions in 2 clusters?' in terminal.seen and b'b failed: ' in terminal.seen
    assert not sim.live_instances()
    os.write(terminal.master, b'yes\n')
    terminal.read_until(b'2 of 3 clusters are done')
    assert terminal.finish() == 4
    assert terminal.seen.count(b'Enter a value: ') == 1
    assert clusters_of(sim) == ['a', 'c']


def test_one_that_fails_stops_no_other_and_is_in_the_document(sim, home):
    home.write('c/b.yaml', spec('b', pools={'train': ('A100:8', 1)}))
    sim.knobs(capacity={'p4d.24xlarge': {f'us-east-1{zone}': 0 for zone in 'abcdef'}})
    value, by = document(home, 'apply', 'c', '--auto-approve', code=3)
    sim.knobs(capacity={})
    assert [by[n]['outcome'] for n in 'abc'] == ['done', 'partial', 'done']
    assert by['b']['exit_code'] == 3 and by['b']['counts']['failed'] == 1
    assert any(d['code'] == 'provider.capacity' for d in by['b']['diagnostics'])
    assert clusters_of(sim) == ['a', 'b', 'c']
    assert [c['address'] for c in by['a']['changes'] if c['outcome'] == 'done'].count('aws.instance.head') == 1
    assert home.run('log', by['a']['run'], '--cluster', 'a').out
    _, by = document(home, 'apply', 'c', '--auto-approve')
    assert [by[n]['outcome'] for n in 'abc'] == ['nothing-to-do', 'done', 'nothing-to-do']
    assert value['command'] == 'apply'


def test_a_locked_cluster_is_left_out(sim, home):
    sim.counters_reset()
    sim.knobs(latency_ms=700)
    first = home.start('apply', 'c/b.yaml', '--auto-approve')
    sim.wait_for_change(first)
    sim_codes, by = document(home, 'apply', 'c', '--auto-approve', code=5)
    first.communicate()
    sim.knobs(latency_ms=0)
    assert first.returncode == 0 and sim_codes['exit_code'] == 5
    assert [by[n]['outcome'] for n in 'abc'] == ['done', 'failed', 'done']
    assert clusters_of(sim) == ['a', 'b', 'c'] and len(sim.live_instances()) == 6


def test_a_folder_of_saved_plans_is_applied_as_it_was_shown(sim, home):
    home.run('plan', 'c', '--out', 'plans')
    os.rename(home.path('c'), home.path('away'))
    result = home.run('apply', 'plans')
    assert clusters_of(sim) == ['a', 'b', 'c'] and '3 of 3 clusters' in result.out
    os.rename(home.path('away'), home.path('c'))
    stale = home.run('apply', 'plans', code=6)
    assert stale.err.count('plan.stale') + stale.err.count('plan.wrong-state') == 3


def test_one_stale_plan_stops_no_other(sim, home):
    home.run('plan', 'c', '--out', 'plans')
    home.apply('c/b.yaml')
    _, by = document(home, 'apply', 'plans', code=6)
    assert [by[n]['outcome'] for n in 'abc'] == ['done', 'failed', 'done']
    assert len(sim.live_instances()) == 6


def test_plans_and_specs_are_not_mixed(home):
    home.run('plan', 'c', '--out', 'plans')
    assert 'not both' in home.run('apply', 'plans', 'c', code=4).err
    assert 'not both' in home.run('apply', 'plans/a.json', 'c/b.yaml', code=4).err
    home.run('plan', 'c/a.yaml', '--out', 'c/a.json')
    assert 'not both' in home.run('apply', 'c', code=4).err
    home.write('plans/broken.json', '{"resource_changes": [')
    assert 'plan.bad-file' in home.run('apply', 'plans', code=4).err


def test_two_plans_of_one_cluster_are_refused(sim, home):
    home.run('plan', 'c/a.yaml', '--out', 'one.json')
    home.run('plan', 'c/a.yaml', '--out', 'two.json')
    assert 'two of the plans are for cluster a' in ' '.join(home.run('apply', 'one.json', 'two.json', code=4).err.split())
    assert not sim.live_instances()


def test_destroy_takes_no_folder(sim, home):
    home.apply('c')
    err = ' '.join(home.run('destroy', 'c', '--auto-approve', code=4).err.split())
    assert 'does not accept a folder' in err and 'raygpu destroy c/a.yaml c/b.yaml c/c.yaml' in err
    assert len(sim.live_instances()) == 6
    assert 'usage.unknown-option' in home.run('destroy', '--changed-since', 'HEAD', code=4).err
    result = home.run('destroy', 'c/a.yaml', 'c/c.yaml', '--auto-approve')
    assert clusters_of(sim) == ['b'] and result.out.count('Destroy complete!') == 2
    value, by = document(home, 'destroy', '--cluster', 'b', '--auto-approve')
    assert value['command'] == 'destroy' and by['b']['file'] is None and by['b']['counts']['destroyed'] == 5
    assert not sim.live_instances()


def test_a_merge_applies_what_it_touched(sim, home):
    home.git('init', '-q', '-b', 'main')
    home.write('.gitignore', '.raygpu/\n')
    home.git('add', '-A')
    home.git('commit', '-qm', 'all')
    home.apply('c')
    home.write('c/b.yaml', spec('b', pools={'serve': 2}))
    home.git('rm', '-q', 'c/a.yaml')
    home.git('commit', '-qam', 'merge')
    result = home.run('apply', 'c', '--changed-since', 'HEAD~1', '--auto-approve')
    assert 'Apply complete! Resources: 1 added' in result.out and '1 of 1 clusters' in result.out
    assert 'cluster a was removed, but' in ' '.join(result.err.split())
    assert clusters_of(sim) == ['a', 'b', 'c'], 'nothing is destroyed for want of a spec'
    assert home.run('apply', 'c', '--changed-since', 'HEAD', '--auto-approve').out.count('Apply') == 0


def test_the_document_of_one_cluster(sim, home):
    _, by = document(home, 'apply', 'c/a.yaml', '--auto-approve')
    assert by['a']['outcome'] == 'done' and by['a']['counts']['added'] == 5
    created = {c['address'] for c in by['a']['changes'] if c['action'] == 'create' and c['outcome'] == 'done'}
    assert {'aws.instance.head', 'aws.instance.serve[0]'} <= created
    _, by = document(home, 'apply', 'c/b.yaml', code=4)
    assert by['b']['diagnostics'][0]['code'] == 'apply.no-terminal' and by['b']['outcome'] == 'not-run'
    home.write('bad.yaml', 'cluster: x\n')
    _, by = document(home, 'apply', 'bad.yaml', '--auto-approve', code=4)
    assert by[None]['diagnostics']
    assert document(home, 'apply', 'nope.yaml', '--auto-approve', code=4)[0]['exit_code'] == 4


def test_an_interrupt_leaves_the_rest_and_says_so(sim, home):
    sim.knobs(latency_ms=400)
    process = home.start('apply', 'c', '--auto-approve', '--json')
    said = []
    for line in process.stdout:
        said.append(line)
        if json.loads(line)['type'] == 'apply_start':
            break
    process.terminate()
    said.append(process.stdout.read())
    process.wait()
    sim.knobs(latency_ms=0)
    assert process.returncode == 130
    value = events.read(''.join(said))[-1]['raygpu']
    assert [c['outcome'] for c in value['clusters']] == ['interrupted', 'not-run', 'not-run']
    home.apply('c')
    home.run('plan', 'c', '--detailed-exitcode')
    assert len(sim.live_instances()) == 6


def test_init_has_a_document(tmp_path):
    home = Home(tmp_path)
    wanted = {'raygpu_format': 1, 'spec': 'x.yaml', 'wrote_spec': True, 'wrote_gitignore': True}
    assert home.run('init', 'x.yaml', '--json').json() == wanted
    again = home.run('init', 'x.yaml', '--json').json()
    assert again == {**wanted, 'wrote_spec': False, 'wrote_gitignore': False}


@pytest.mark.parametrize('arguments, words', [
    (('plan', '--nope=3'), 'unknown option "--nope"'),
    (('plan', '--ouf', 'x'), 'did you mean `--out`'),
    (('plan', '--out'), '--out requires FILE'),
    (('log', '-n', 'x'), '-n requires a whole number'),
    (('apply', '--parallelism=99999999999'), '--parallelism requires a whole number'),
    (('apply', 'nope.yaml'), '"nope.yaml" cannot be read: No such file'),
    (('show', '.'), '"." cannot be read: '),
    (('init', 'nope/x.yaml'), '"nope/x.yaml" cannot be written: No such file'),
])
def test_what_libraries_say_is_told_in_our_words(tmp_path, arguments, words):
    code = 1 if 'written' in words else 4
    err = ' '.join(Home(tmp_path).run(*arguments, code=code).err.split())
    assert words in err and 'Failed' not in err and '\u201c' not in err
