"""raygpu log: what earlier runs did, from which commit, and how they ended."""
import re
import time

from program import spec


def test_runs_with_commit_author_outcome_and_changes(sim, home):
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    home.git('init', '-q')
    home.git('add', 'cluster.yaml')
    home.git('commit', '-qm', 'one')
    commit = home.git('rev-parse', 'HEAD')
    home.apply()
    sim.knobs(capacity={'*': {'*': 0}})
    home.write('cluster.yaml', spec(pools={'serve': 4}))
    home.apply(code=8)
    home.run('destroy', '--auto-approve')

    runs = home.run('log', '--json').json()
    assert [run['command'] for run in runs] == ['destroy', 'apply', 'apply']
    assert {run['commit'] for run in runs} == {commit}
    assert [run['dirty'] for run in runs] == [True, True, False]
    assert runs[2]['author'] == 'A <a@example.org>'
    assert runs[2]['outcome'] == 'done' and runs[2]['spec'] == 'cluster.yaml'
    assert runs[2]['changes'] == {'create': 6}

    text = home.run('log').out
    assert len(re.findall(r'^run [0-9a-f]{16}  \d{4}-\d\d-\d\dT\S+Z  (apply|destroy)  ', text, re.M)) == 3
    assert f'    commit  {commit[:12]}\n    author  A <a@example.org>\n' in text
    assert f'    commit  {commit[:12]}, with changes that are not in it\n' in text
    assert home.run('log', '-n', '1').out.count('\nrun ') == 0

    one = home.run('log', runs[2]['id'][:6])
    assert re.search(r'create  aws\.instance\.serve\[1\]  g4dn\.xlarge in us-east-1a\n', one.out)
    assert 'aws.instance.serve[3]' not in one.out
    steps = home.run('log', runs[0]['id'], '--json').json()['steps']
    assert {step['action'] for step in steps} == {'delete'}


def test_a_killed_run_is_told_as_interrupted_by_the_next(sim, home):
    home.write('cluster.yaml', spec(pools={'serve': 1}))
    sim.knobs(latency_ms=2000)
    process = home.start('apply', 'cluster.yaml', '--auto-approve')
    while not sim.counters()['actions'].get('CreateSecurityGroup'):
        assert process.poll() is None
    process.kill()
    process.communicate()
    assert home.run('log', '--json').json()[0]['outcome'] is None
    assert '  not ended\n' in home.run('log').out
    sim.knobs(latency_ms=0)
    home.apply()
    assert [run['outcome'] for run in home.run('log', '--json').json()] == ['done', 'interrupted']


def test_words_that_name_no_run(sim, home):
    home.write('cluster.yaml', spec(pools={'serve': 0}))
    assert 'state.no-such-cluster' in home.run('log', code=4).err
    home.apply()
    run = home.run('log', '--json').json()[0]['id']
    assert 'there is no run' in home.run('log', 'zzzz', code=4).err
    assert 'too short for a run id' in home.run('log', run[:3], code=4).err
    assert 'has no cluster other' in ' '.join(home.run('log', '--cluster', 'other', code=4).err.split())
    home.run('log', '-n', '-1', code=4)


def next_second():
    """A store of documents has no other order of the runs of two clusters."""
    now = int(time.time())
    while int(time.time()) == now:
        time.sleep(0.02)


def test_the_runs_of_all_clusters(sim, home):
    for name in ('one', 'three'):
        home.write(f'{name}.yaml', spec(name=name, pools={'serve': 1}))
        home.apply(f'{name}.yaml')
        next_second()
    home.run('state', 'rm', 'aws.instance.serve[0]', '--cluster', 'one')
    runs = home.run('log', '--json').json()
    assert [(r['cluster'], r['command']) for r in runs] == [('one', 'state rm'), ('three', 'apply'), ('one', 'apply')]
    text = home.run('log').out
    heads = re.findall(r'^run [0-9a-f]{16}  \S+Z  (one    |three  )(apply|state rm)  ', text, re.M)
    assert heads == [('one    ', 'state rm'), ('three  ', 'apply'), ('one    ', 'apply')]
    assert home.run('log', '-n', '1').out.count('run ') == 1
    alone = home.run('log', '--cluster', 'three')
    assert 'one.yaml' not in alone.out and re.search(r'Z  apply  ', alone.out)
    assert 'Z  three  apply' in home.run('log', runs[1]['id']).out
    home.run('log', '--cluster', 'two', code=4)
    home.run('log', '--state', 'none.db', code=4)
