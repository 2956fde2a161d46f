"""Each input is opened once per run and passed on: the spec, the catalog of a place, the state. The project file is read
twice: at first only where the state is. RAYGPU_LOG=debug shows what is opened."""
import re

import pytest
from program import Home, spec


@pytest.fixture
def home(tmp_path, sim):
    home = Home(tmp_path, sim.env())
    home.write('raygpu.yaml', 'budget: {hourly_usd: 400}\n')
    home.write('cluster.yaml', spec(pools={'serve': 1}))
    return home


def opened(home, *arguments):
    """What a run opens, sorted."""
    log = home.run(*arguments, env={'RAYGPU_LOG': 'debug'}).err
    return sorted(re.findall(r' debug ((?:reads|opens the catalog|loads the state) .*)', log))


def once():
    return sorted(['reads cluster.yaml', *2 * ['reads raygpu.yaml'], 'opens the catalog of aws, us-east-1',
                   'loads the state of cluster research'])


def test_plan_apply_and_destroy(home):
    assert opened(home, 'plan', 'cluster.yaml') == once()
    # and the state that it made: for the nodes that have to join Ray, and for the head's address
    assert opened(home, 'apply', 'cluster.yaml', '--auto-approve') == sorted(
        once() + 2 * ['loads the state of cluster research'])
    assert opened(home, 'drift', 'cluster.yaml') == once()
    assert opened(home, 'destroy', 'cluster.yaml', '--auto-approve') == once()


def test_import(sim, home):
    home.apply()
    node = next(i['instanceId'] for i in sim.live_instances() if i['instanceType'].startswith('g4dn'))
    home.run('state', 'rm', 'aws.instance.serve[0]')
    assert opened(home, 'import', 'cluster.yaml', 'aws.instance.serve[0]', node) == once()


def test_a_choice_of_places_opens_each_candidate_once(home):
    places = '{any_of: [{name: aws, region: us-east-1}, {name: aws, region: us-west-2}]}'
    home.write('cluster.yaml', spec(pools={'serve': 1}).replace('{name: aws, region: us-east-1}', places))
    assert opened(home, 'plan', 'cluster.yaml') == sorted(
        once() + ['opens the catalog of aws, us-west-2'])
    assert opened(home, 'offers', 'cluster.yaml') == sorted(
        ['reads cluster.yaml', 'reads raygpu.yaml',
         'opens the catalog of aws, us-east-1', 'opens the catalog of aws, us-west-2',
         *(f'opens the catalog of {name}, all regions' for name in ('aws', 'azure', 'gcp'))])
