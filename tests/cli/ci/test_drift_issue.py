"""examples/ci/drift-issue.sh: one issue per cluster with drift, for its whole life."""
import os

import pytest
from forges import Team
from program import spec

LONG = pytest.mark.skipif(not os.environ.get('RAYGPU_LONG'), reason='with --long')


@pytest.fixture(name='team')
def a_team(tmp_path, request):
    """A cluster a that runs, and b, which was never applied."""
    with Team(request.param, tmp_path) as team:
        team.origin.run('apply', 'clusters/a.yaml', '--auto-approve', '--state', team.path('state.db'))
        yield team


def on(*short):
    return pytest.mark.parametrize('team', [pytest.param(forge, marks=[] if forge in short else LONG) for forge in ('github', 'gitlab')],
                                   indirect=True)


def lose_a_node(team):
    team.sim.ec2('TerminateInstances', **{'InstanceId.1': team.sim.live_instances()[-1]['instanceId']})


def repair(team):
    team.origin.run('apply', 'clusters/a.yaml', '--auto-approve', '--state', team.path('state.db'))


@on('github', 'gitlab')
def test_the_life_of_an_issue(team):
    team.drift()
    assert team.look('issues') == [] and team.writes() == 0

    lose_a_node(team)
    team.drift(2)
    one = team.issue()
    assert one['title'] == 'Drift in cluster a' and one['labels'] == ['raygpu-drift'] and 'has been deleted' in one['body'] and not one['comments']
    writes = team.writes()
    team.drift(2)
    assert team.writes() == writes, 'nothing new is nothing to say'

    lose_a_node(team)
    team.drift(2)
    assert '2 missing' in team.issue()['body'] and 'The drift has changed.' in team.issue()['comments'][0] and len(team.issue()['comments']) == 1

    repair(team)
    team.drift()
    closed = team.look('issues')[0]
    assert not closed['open'] and 'The drift is gone.' in closed['comments'][1] and 'No drift' in closed['body']
    writes = team.writes()
    team.drift()
    assert team.writes() == writes

    lose_a_node(team)
    team.drift(2)
    assert len(team.look('issues')) == 1 and 'There is drift again.' in team.issue()['comments'][2]

    # who closes it while the drift is there accepts that drift, but no other
    with team.service() as state:
        state['issues'][0]['open'] = False
    team.drift(2)
    assert team.issue() is None
    lose_a_node(team)
    team.drift(2)
    assert '2 missing' in team.issue()['body'] and len(team.look('issues')) == 1


@on('github')
def test_what_could_not_be_checked_stays_as_it_is(team):
    lose_a_node(team)
    team.drift(2)
    before = team.look('issues')
    writes = team.writes()
    team.sim.fault(action='DescribeInstances', when='before', status=403, code='UnauthorizedOperation', message='no', count=0)
    said = team.drift(7)
    assert 'clusters/a.yaml could not be checked' in said and team.look('issues') == before and team.writes() == writes
    team.sim.faults_clear()
    # a faulty spec is an error, and stops no other cluster
    team.origin.git('checkout', '-q', 'main')
    team.commit({'b.yaml': spec('b') + 'color: red\n'})
    repair(team)
    assert 'unknown key' in team.drift(4)
    assert team.issue() is None and not team.look('issues')[0]['open']


@on()
def test_others_issues_and_second_ones(team):
    lose_a_node(team)
    with team.service() as state:
        planted = {'number': 1, 'user': 'guest', 'title': 'Drift in cluster a', 'open': True, 'labels': ['raygpu-drift'], 'comments': [],
                   'body': f'<!-- raygpu:drift cluster=a sum={"a" * 64} -->\nall is well'}
        state['issues'] = [dict(planted)] + [{**planted, 'number': at, 'body': 'words'} for at in range(2, 130)]
    team.drift(2)
    assert team.look('issues')[0] == planted and team.issue()['number'] == 130
    with team.service() as state:
        state['issues'].append({**state['issues'][-1], 'number': 131, 'comments': []})
    team.drift(2)
    assert team.issue()['number'] == 130 and 'Duplicate of #130' in team.look('issues')[-1]['comments'][0]


@on()
def test_faults_of_the_service(team):
    lose_a_node(team)
    team.fault('POST', 'issues$', 502, done=True)
    team.drift(2)
    assert len(team.look('issues')) == 1 and 'has been deleted' in team.issue()['body']
    repair(team)
    team.fault('GET', 'issues$', 503, 2)
    team.fault('PATCH|PUT', 'issues/1$', 500, 2)
    team.drift()
    assert team.issue() is None
    with team.service() as state:
        state['issues'], state['drops_labels'] = [], True
    lose_a_node(team)
    assert 'has no label raygpu-drift' in team.drift(1)
