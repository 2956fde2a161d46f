"""`provider: {any_of: [...]}`: one place is chosen for the whole cluster, kept, and left only when the user
destroys the cluster there. Two regions of raygpu-sim, each candidate with its own endpoint."""
import json
import os
import re

import pytest
from program import IMAGE, ROOT, Home
from sim_server import Sim

# prices.csv: a g4dn.xlarge costs the same in us-east-1 and us-west-2, and 0.631 in us-west-1; an
# m5.2xlarge 0.384 and 0.448.
EAST, WEST, DEAR = 'us-east-1', 'us-west-2', 'us-west-1'


@pytest.fixture
def sim():
    with Sim('--boot-ms', '0') as sim:
        sim.knobs(shutdown_ms=0)
        yield sim


@pytest.fixture
def home(tmp_path, sim):
    env = sim.env()
    del env['AWS_ENDPOINT_URL'], env['AWS_REGION'], env['AWS_DEFAULT_REGION']  # the spec has them
    return Home(tmp_path, {**env, 'RAYGPU_ALLOW_ENDPOINTS': sim.url})


def spec(sim, places, nodes=2, name='research', pool='accelerators: T4', head='instance_type: m5.2xlarge', extra=''):
    lines = ''.join(f'    - {{name: aws, region: {p}, endpoint: "{sim.url}"}}\n' if ':' not in p else f'    - {{{p}}}\n'
                    for p in places)
    return (f'cluster: {name}\nprovider:\n  any_of:\n{lines}'
            f'ray: {{version: 2.56.1, python: "3.11", image: "{IMAGE}"}}\nhead: {{{head}}}\n'
            f'pools:\n  serve: {{{pool}, nodes: {nodes}}}\n{extra}')


def write(home, *arguments, **more):
    home.write('cluster.yaml', spec(*arguments, **more))


def nodes(sim, region):
    return len(sim.live_instances(region))


def unwrapped(text):
    return ' '.join(text.split())


def place(plan):
    return plan['raygpu']['facts']['place']


def test_the_cheapest_place_is_chosen_kept_and_left_without_a_trace(sim, home):
    write(home, sim, [DEAR, EAST, WEST])
    said = home.run('plan', 'cluster.yaml')
    assert f'Place: aws {EAST}, cheapest of 3 candidates\n       $1.44 per hour, prices of' in said.out
    assert f'aws {DEAR} $1.71* per hour' in said.out
    home.run('plan', 'cluster.yaml', '--out', 'p.json')
    assert f'Place: aws {EAST}, cheapest of 3' in home.run('show', 'p.json').out
    choice = place(json.loads(home.read('p.json')))
    assert (choice['provider'], choice['region'], choice['price_date']) == ('aws', EAST, '2026-07-20')
    assert choice['microusd_hour'] == 384000 + 2 * 526000
    assert [c['region'] for c in choice['candidates']] == [DEAR, EAST, WEST]
    home.run('apply', 'p.json', '--auto-approve')
    assert (nodes(sim, EAST), nodes(sim, WEST), nodes(sim, DEAR)) == (3, 0, 0)
    said = home.run('plan', 'cluster.yaml', '--detailed-exitcode', '--no-settle', '--verbose')
    assert 'No changes.' in said.out and f'Place: aws {EAST}, cheapest of 3' in said.out
    assert home.run('drift', 'cluster.yaml', '--no-settle').out.startswith('No drift.')
    assert home.run('state', 'orphans').code == 0
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert not any(nodes(sim, region) for region in (EAST, WEST, DEAR))
    assert sim.world(EAST)['network_interfaces'] == []


def test_a_price_that_one_place_lacks_is_estimated(sim, home):
    """The catalog has no prices of ap-southeast-4 for these types: those of us-east-1 are used."""
    write(home, sim, [EAST, 'ap-southeast-4'], head='instance_type: m6i.2xlarge')
    said = home.run('plan', 'cluster.yaml').out
    assert f'Place: aws {EAST}, the only one of 2 candidates with known prices\n' in said
    assert 'aws ap-southeast-4 about $1.44 per hour' in said


def test_what_has_no_price_anywhere_is_not_cheapest(home):
    home.write('raygpu.yaml', 'catalog: {instance_types: {aws: {zz.large: {vcpus: 2, memory: 8GiB}}}}\n')
    home.write('cluster.yaml', 'cluster: s\nprovider: {any_of: [{name: aws, region: us-east-1}, {name: aws, region: us-west-2}]}\n'
               'ray: {version: 2.56.1, python: "3.11"}\nhead: {instance_type: zz.large}\n'
               'pools:\n  t: {instance_type: zz.large, nodes: 2}\n')
    said = home.run('fit', 'cluster.yaml')
    assert 'cheapest' not in said.err and '$0.00' not in said.err + said.out
    assert 'the first of 2 candidates without known prices, at an unknown price' in unwrapped(said.err)
    assert said.out.count('unknown') == 6 and '>=' not in said.out


def test_the_reason_names_what_decided(sim, home):
    """eu-west-1 costs less and emits less, but lacks the accelerators that the spec lists first."""
    home.write('cluster.yaml', (ROOT / 'examples/any-of.yaml').read_text())
    said = unwrapped(home.run('fit', 'cluster.yaml').err)
    assert ('aws us-west-2 would be chosen, best balance of price and carbon of the 2 of 3 candidates with the '
            'preferred accelerators, at $57.38 per hour') in said
    assert 'aws eu-west-1: $50.21 per hour, but its accelerators are listed later' in said
    home.write('cluster.yaml', home.read('cluster.yaml').replace('    - {name: aws, region: us-east-1}\n', ''))
    assert 'the only one of 2 candidates with the preferred accelerators' in unwrapped(
        home.run('fit', 'cluster.yaml').err)


def test_a_place_within_the_budget_is_chosen(sim, home):
    """The one with the preferred accelerators costs more than the budget allows; then both do."""
    example = (ROOT / 'examples/any-of.yaml').read_text().replace('    - {name: aws, region: us-east-1}\n', '')
    assert 'budget' not in example
    home.write('cluster.yaml', example + 'budget: {hourly_usd: 55}\n')
    said = unwrapped(home.run('fit', 'cluster.yaml').err)
    assert 'aws eu-west-1 would be chosen, the only one of 2 candidates that has everything within the budget' in said
    assert re.search(r'aws us-west-2: the cluster would cost \$57\.\d+ per hour; the budget is \$55', said), said
    report = home.run('offers', 'cluster.yaml', '--json').json()['place']
    assert report['region'] == 'eu-west-1' and 'the budget is $55' in report['candidates'][0]['rejected']
    home.write('cluster.yaml', example + 'budget: {hourly_usd: 40}\n')
    said = unwrapped(home.run('fit', 'cluster.yaml', code=None).err)
    assert 'aws us-west-2 would be chosen' in said and 'budget.exceeded' in said, 'all are above it: that is for the plan'


def test_a_budget_of_a_pool_decides_between_places(sim, home):
    """The place that emits less is above the budget of a pool; --override-budget chooses as without one."""
    write(home, sim, [DEAR, EAST], extra='optimize: carbon\n')
    first = place(home.run('plan', 'cluster.yaml', '--format', 'json').json())
    dearer = max(first['candidates'], key=lambda c: c['microusd_hour'])
    assert first['region'] == dearer['region'], 'what emits less costs more here'
    write(home, sim, [DEAR, EAST], extra='optimize: carbon\nbudget: {pools: {serve: {hourly_usd: 1.06}}}\n')
    chosen = place(home.run('plan', 'cluster.yaml', '--format', 'json').json())
    assert chosen['region'] != first['region']
    assert 'pool serve would cost' in next(c['rejected'] for c in chosen['candidates'] if c['region'] == first['region'])
    kept = place(home.run('plan', 'cluster.yaml', '--format', 'json', '--override-budget', 'greener').json())
    assert kept['region'] == first['region']


def test_a_place_stays_when_another_is_better(sim, home):
    write(home, sim, [DEAR])
    home.apply()
    assert nodes(sim, DEAR) == 3
    write(home, sim, [EAST, DEAR], nodes=3)
    said = home.run('plan', 'cluster.yaml', '--detailed-exitcode', '--no-settle', code=2)
    assert 'Plan: 1 to add, 0 to change, 0 to destroy.' in said.out
    home.apply('cluster.yaml', '--no-settle')
    assert (nodes(sim, DEAR), nodes(sim, EAST)) == (4, 0)


def test_reoptimize_says_what_a_move_would_end_and_moves_nothing(sim, home):
    write(home, sim, [DEAR])
    home.apply()
    write(home, sim, [DEAR, EAST])
    said = home.run('plan', 'cluster.yaml', '--reoptimize', code=6)
    assert 'plan.would-move' in said.err and 'everything would be destroyed and recreated' in unwrapped(said.err)
    assert f'aws {DEAR}: $1.71 per hour' in said.err and f'aws {EAST}: $1.44 per hour' in said.err
    assert 'raygpu destroy --cluster research' in unwrapped(said.err)
    assert (nodes(sim, DEAR), nodes(sim, EAST)) == (3, 0)
    write(home, sim, [DEAR])
    assert 'No changes.' in home.run('plan', 'cluster.yaml', '--reoptimize', '--no-settle').out
    home.run('destroy', '--cluster', 'research', '--auto-approve')
    write(home, sim, [DEAR, EAST])
    home.apply('cluster.yaml', '--no-settle')
    assert (nodes(sim, DEAR), nodes(sim, EAST)) == (0, 3)


def test_reoptimize_leaves_equals_where_they_are(sim, home):
    write(home, sim, [WEST], head='accelerators: T4')
    home.apply()
    write(home, sim, [EAST, WEST], head='accelerators: T4')
    said = home.run('plan', 'cluster.yaml', '--reoptimize', '--no-settle', '--verbose')
    assert 'No changes.' in said.out and f'Place: aws {WEST}, cheapest of 2' in said.out


def test_a_place_taken_off_the_list_is_no_silent_move(sim, home):
    write(home, sim, [DEAR, EAST])
    home.apply()
    write(home, sim, [DEAR, WEST])
    for command in (['plan', 'cluster.yaml'], ['apply', 'cluster.yaml', '--auto-approve'],
                    ['drift', 'cluster.yaml'], ['destroy', 'cluster.yaml', '--auto-approve']):
        said = home.run(*command, code=6)
        assert f"recorded in aws {EAST}, which provider.any_of" in unwrapped(said.err)
        assert 'raygpu destroy --cluster research' in unwrapped(said.err)
    assert (nodes(sim, EAST), nodes(sim, WEST)) == (3, 0)
    home.run('destroy', '--cluster', 'research', '--auto-approve')
    home.apply('cluster.yaml', '--no-settle')
    assert (nodes(sim, EAST), nodes(sim, WEST)) == (0, 3), 'about the price of the east, and cheaper than the other'


def test_what_was_resolved_in_one_region_is_not_used_in_another(sim, home):
    """Without any_of too: the state keeps images and subnets of the last apply when nothing is left."""
    images = {}
    for region in (EAST, WEST):
        home.write('cluster.yaml', spec(sim, []).replace('any_of:', f'{{name: aws, region: {region}, endpoint: "{sim.url}"}}')
                   .replace('provider:\n  {', 'provider: {'))
        home.apply('cluster.yaml', '--no-settle')
        images[region] = {i['imageId'] for i in sim.live_instances(region)}
        zones = {i['placement']['availabilityZone'] for i in sim.live_instances(region)}
        assert all(zone.startswith(region) for zone in zones) and len(sim.live_instances(region)) == 3
        home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert images[EAST].isdisjoint(images[WEST]), 'an image has another id in each region'


def test_a_cluster_from_before_any_of_keeps_its_place(sim, home):
    home.write('cluster.yaml', spec(sim, []).replace('  any_of:\n', '').replace(
        'provider:\n', f'provider: {{name: aws, region: {DEAR}, endpoint: "{sim.url}"}}\n'))
    home.apply()
    write(home, sim, [EAST, DEAR])
    said = home.run('plan', 'cluster.yaml', '--detailed-exitcode', '--no-settle', '--verbose')
    assert 'No changes.' in said.out and f'Place: aws {DEAR}, it is already there' in said.out


def test_candidates_are_rejected_with_the_reason(sim, home):
    extra = 'policy: {deny_regions: [us-west-*]}\n'
    write(home, sim, [WEST, EAST, 'name: nocloud, region: here'], extra=extra)
    choice = place(home.run('plan', 'cluster.yaml', '--format', 'json').json())
    why = {c['region']: c.get('rejected') for c in choice['candidates']}
    assert why[EAST] is None and 'denied by policy' in why[WEST]
    assert why['here'] == 'there is no provider "nocloud"'
    assert choice['reason'] == 'the only one of 3 candidates that has everything'
    write(home, sim, [EAST, DEAR], pool='accelerators: "A100:8"')
    assert f'Place: aws {EAST}, the only one of 2' in home.run('plan', 'cluster.yaml').out
    write(home, sim, [EAST, WEST], pool='accelerators: T4, zones: [us-west-2a]')
    assert f'Place: aws {WEST}, the only one of 2' in home.run('plan', 'cluster.yaml').out


def test_no_candidate_is_an_error_that_says_why_of_each(sim, home):
    write(home, sim, [DEAR, 'name: nocloud, region: here'], pool='accelerators: "A100:8"')
    for command in ('plan', 'validate', 'fit'):
        said = unwrapped(home.run(command, 'cluster.yaml', code=4).err)
        assert 'fit.no-place' in said and 'catalog.no-offer' in said
        assert f'aws {DEAR}: no aws instance type has 8 A100 GPUs' in said
        assert 'nocloud here: there is no provider "nocloud"' in said


def closed(code):
    """A cloud that admits nobody, as EC2 answers in a region that the account has not enabled, or that a policy denies."""
    sim = Sim('--boot-ms', '0', '--shutdown-ms', '0')
    sim.fault(action='*', when='before', status=401, code=code, message='AWS was not able to validate the credentials', count=0)
    return sim


@pytest.mark.parametrize('code', ['AuthFailure', 'UnauthorizedOperation'])
def test_a_place_that_admits_nobody_is_left_out(sim, home, code):
    with closed(code) as other:
        home.env['RAYGPU_ALLOW_ENDPOINTS'] = f'{sim.url},{other.url}'
        shut = f'name: aws, region: {EAST}, endpoint: "{other.url}"'
        write(home, sim, [shut, DEAR])
        said = home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2)
        assert f'Place: aws {DEAR}, the only one of 2 candidates that has everything' in said.out
        assert f'not aws {EAST}: EC2 refused ' in unwrapped(said.out)
        told = unwrapped(said.err)
        assert f'Warning: aws {EAST} is left out: EC2 refused ' in told and f'({code})' in told and 'cluster.yaml:4:' in told
        home.apply()
        assert nodes(sim, DEAR) == 3
        home.run('destroy', 'cluster.yaml', '--auto-approve')
        # the same error of the only place is an error
        write(home, sim, [shut])
        said = home.run('plan', 'cluster.yaml', code=7).err
        assert 'Error: EC2 refused ' in said and 'left out' not in said and 'no-place' not in said
        # and where another has no capacity, the third is tried
        write(home, sim, [WEST, shut, DEAR])
        sim.knobs(capacity={'*': {f'{WEST}{zone}': 0 for zone in 'abcdef'}})
        said = home.run('apply', 'cluster.yaml', '--auto-approve')
        assert f'aws {WEST} has no capacity for the cluster' in said.err + said.out
        assert nodes(sim, DEAR) == 3 and nodes(sim, WEST) == 0


def test_a_cloud_that_cannot_be_asked_is_left_out(sim, home):
    """Kubernetes without a kubeconfig, whose nodes have no price; AWS, where pools have a fixed size."""
    pods = 'name: kubernetes, namespace: ray'
    write(home, sim, [pods, EAST])
    said = home.run('plan', 'cluster.yaml')
    assert f'Place: aws {EAST}, the only one of 2' in said.out and 'Warning: kubernetes is left out: there is no kubeconfig' in unwrapped(said.err)
    write(home, sim, [pods, EAST], nodes='{min: 1, max: 3}')
    told = unwrapped(home.run('plan', 'cluster.yaml', code=7).err).split('[fit.no-place]')[1]
    assert f'aws {EAST}: the provider aws does not support elastic pools (pool serve)' in told and 'kubernetes: there is no kubeconfig' in told


def test_an_image_of_one_region_leaves_only_that(sim, home):
    image = sim.ok('DescribeImages', {'Owner.1': 'amazon'}, region=DEAR).findtext('imagesSet/item/imageId')
    write(home, sim, [EAST, DEAR], pool=f'accelerators: T4, image: {image}')
    said = home.run('plan', 'cluster.yaml')
    assert f'Place: aws {DEAR}, the only one of 2' in said.out and 'InvalidAMIID.NotFound' in said.err, said


def test_a_wrong_setting_of_any_candidate_is_an_error(sim, home):
    write(home, sim, [EAST, f'name: aws, region: {WEST}, endpiont: "{sim.url}"'])
    said = home.run('plan', 'cluster.yaml', code=4)
    assert 'provider.bad-config' in said.err and 'cluster.yaml:5:' in said.err and 'endpoint' in said.err


def test_validate_and_offers_compare_the_candidates(sim, home):
    write(home, sim, [DEAR, EAST, 'name: nocloud, region: here'])
    said = home.run('validate', 'cluster.yaml')
    assert f'3 nodes in aws {EAST}' in said.out and f'today aws {EAST} would be chosen' in unwrapped(said.err)
    text = home.run('offers', 'cluster.yaml').out
    assert 'the whole cluster: 3 candidates' in text and 'chosen: cheapest of 2 candidates' in text
    assert 'rejected: there is no provider "nocloud"' in text
    report = home.run('offers', 'cluster.yaml', '--json').json()
    assert report['place']['region'] == EAST
    assert {o['region'] for o in report['lists'][0]['offers']} == {EAST, DEAR}
    assert all(len(line) <= 80 for line in text.split('\n'))


def test_a_lost_state_is_rebuilt_where_the_cluster_is(sim, home):
    write(home, sim, [DEAR, EAST])
    home.apply()
    assert nodes(sim, EAST) == 3
    os.unlink(home.state)
    home.run('state', 'rebuild', 'cluster.yaml')
    said = home.run('plan', 'cluster.yaml', '--detailed-exitcode', '--no-settle', '--verbose')
    assert 'No changes.' in said.out and f'Place: aws {EAST}' in said.out
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert nodes(sim, EAST) == 0
    os.unlink(home.state)
    assert f'nothing in aws {DEAR}, aws {EAST} has the ownership tags' in unwrapped(home.run(
        'state', 'rebuild', 'cluster.yaml', code=None).err)


def test_a_lost_state_with_two_clusters_of_the_name_asks(sim, home):
    for region in (EAST, WEST):
        write(home, sim, [region])
        home.apply('cluster.yaml', '--state', f'{region}.db')
    write(home, sim, [WEST, EAST])
    said = home.run('state', 'rebuild', 'cluster.yaml', code=None)
    assert said.code != 0 and 'state.ambiguous' in said.err and '--lineage' in said.err
    assert not os.path.exists(home.state) or 'has no cluster' in home.run('show', code=None).err


def test_several_specs_and_a_commit(sim, home):
    home.git('init', '-q')
    write(home, sim, [DEAR, EAST])
    home.write('other.yaml', spec(sim, [EAST, WEST], name='other', nodes=1))
    home.git('add', '.')
    home.git('commit', '-qm', 'a')
    said = home.run('plan', '.')
    assert said.out.count('Place: aws us-east-1') == 2
    write(home, sim, [DEAR])
    assert f'Place: aws {EAST}' in home.run('plan', 'cluster.yaml', '--ref', 'HEAD').out
    assert f'Place: aws {DEAR}, the only one of 1 candidate' in home.run('plan', 'cluster.yaml').out


def test_carbon_and_order(sim, home):
    """us-west-2's grid is cleaner than us-east-1's; of equals the first in the spec is chosen."""
    write(home, sim, [EAST, WEST], head='accelerators: T4', extra='optimize: carbon\n')
    said = home.run('plan', 'cluster.yaml')
    assert f'Place: aws {WEST}, least carbon of 2 candidates' in said.out
    for places in ([EAST, WEST], [WEST, EAST]):
        write(home, sim, places, head='accelerators: T4')
        assert f'Place: aws {places[0]}, cheapest of 2' in home.run('plan', 'cluster.yaml').out


def test_a_cheaper_place_that_lost_says_why(home):
    """g4dn.xlarge: 0.526 in us-east-1, more in eu-north-1, where the grid emits far less."""
    home.write('cluster.yaml', 'cluster: research\nprovider: {any_of: [{name: aws, region: us-east-1}, '
               '{name: aws, region: eu-north-1}]}\n'
               'ray: {version: 2.56.1, python: "3.11"}\noptimize: carbon\nhead: {instance_type: m5.2xlarge}\n'
               'pools:\n  w: {accelerators: T4, nodes: 2}\n')
    place = home.run('offers', 'cluster.yaml', '--json').json()['place']
    assert place['region'] == 'eu-north-1'
    lost = {c['region']: c.get('lost') for c in place['candidates']}
    assert lost == {'us-east-1': 'it emits more', 'eu-north-1': None}
    assert 'costs less, but it emits more' in home.run('offers', 'cluster.yaml').out
    assert place['oldest_price_date'] <= place['price_date'] and place['derived'] >= 0
