"""budget and policy, in the spec and in the project file: what no plan may violate, and what the log records."""
import json
import os
import re
import xml.etree.ElementTree as ElementTree

import pytest
from program import ROOT, spec
from shared import home, sim  # noqa: F401

# us-east-1, providers/aws/prices.csv: m5.2xlarge 0.384, g4dn.xlarge 0.526
HEAD, T4 = 384000, 526000


def write(home, nodes, budget):
    home.write('cluster.yaml', spec(pools={'serve': nodes}, extra=f'budget: {budget}\n' if budget else ''))


def dollars(microusd):
    return f'{microusd // 1000000}.{microusd % 1000000:06}'


def test_a_budget_holds_to_the_micro_dollar(home):
    """At the limit is within it; one millionth less is not, for the cluster, a pool, an hour, a month."""
    total = HEAD + 2 * T4
    for key, amount in (('hourly_usd', total), ('monthly_usd', total * 730)):
        write(home, 2, f'{{{key}: {dollars(amount)}}}')
        home.run('plan')
        write(home, 2, f'{{{key}: {dollars(amount - 1)}}}')
        told = home.run('plan', '--out', 'p.json', code=9)
        assert '[budget.exceeded]' in told.err and 'cluster.yaml:8:' in told.err
        assert f'the budget is ${dollars(amount - 1).rstrip("0").rstrip(".")}' in ' '.join(told.err.split())
        assert not os.path.exists(home.path('p.json'))
    for amount, code in ((2 * T4, 0), (2 * T4 - 1, 9)):
        write(home, 2, f'{{hourly_usd: 100, pools: {{serve: {{hourly_usd: {dollars(amount)}}}}}}}')
        result = home.run('plan', code=code)
        assert ('pool serve would cost $1.052 per hour' in result.err) == (code == 9)
    home.run('apply', 'cluster.yaml', '--auto-approve', code=9)
    assert not os.path.exists(home.state) or home.run('state', 'list', code=4).out == ''


def test_a_budget_of_gpu_hours(home):
    """Two nodes with a GPU each are 48 a day and 1460 a month: of the cluster, of a pool, in a saved plan; beside one in money."""
    for key, amount in (('daily_gpu_hours', 48), ('monthly_gpu_hours', 1460)):
        write(home, 2, f'{{{key}: {amount}, hourly_usd: 100, pools: {{serve: {{{key}: {amount}}}}}}}')
        home.run('plan', '--out', 'p.json')
        [limit, _] = [one for one in json.loads(home.read('p.json'))['raygpu']['limits'] if 'gpu_hours' in one]
        assert limit['gpu_hours'] == amount and limit['period'] == key.split('_')[0].replace('daily', 'day').replace('monthly', 'month')
        write(home, 2, f'{{pools: {{serve: {{{key}: {amount - 1}}}}}}}')
        told = ' '.join(home.run('plan', code=9).err.split())
        assert f'pool serve would use {amount} GPU hours per' in told and f'the budget is {amount - 1}' in told
    write(home, 2, '{daily_gpu_hours: 48}')
    home.apply()
    write(home, 3, '{daily_gpu_hours: 48}')
    home.run('plan', code=9)
    home.run('plan', '--override-budget', 'demo')
    write(home, 2, '{daily_gpu_hours: 10}')  # already over: what does not grow is allowed
    assert 'already over budget' in home.run('plan').err
    write(home, 2, '{daily_gpu_hours: 1.5}')
    assert 'daily_gpu_hours' in home.run('plan', code=4).err


def test_an_override_is_kept_in_the_log(home):
    write(home, 2, '{hourly_usd: 1}')
    home.run('apply', '--auto-approve', code=9)
    home.run('plan', '--override-budget', ' ', code=4)
    told = home.run('apply', '--auto-approve', '--override-budget', 'demo for the board, J. Doe')
    assert 'Warning: the cluster would cost $1.436 per hour; the budget is $1' in told.err
    assert 'overridden: demo for the board, J. Doe' in told.err
    run = json.loads(home.run('log', '--json').out)[0]
    assert run['budget_override'] == 'demo for the board, J. Doe'
    assert 'budget  exceeded: demo for the board, J. Doe' in home.run('log').out
    # an unnecessary reason is not recorded
    write(home, 2, '{hourly_usd: 10}')
    home.run('plan', '--detailed-exitcode', '--override-budget', 'just in case')
    write(home, 1, '{hourly_usd: 10}')
    home.run('apply', '--auto-approve', '--override-budget', 'just in case')
    assert 'budget_override' not in json.loads(home.run('log', '--json').out)[0]


def test_what_is_above_already_may_shrink_and_stay_but_not_grow(home):
    write(home, 3, None)
    home.apply()
    write(home, 3, '{hourly_usd: 0.5}')
    told = home.run('plan', '--detailed-exitcode')
    assert 'Warning: the cluster would cost $1.962 per hour' in told.err and "this plan adds nothing" in told.err
    write(home, 2, '{hourly_usd: 0.5}')
    home.run('plan', '--out', 'p.json')
    home.run('apply', 'p.json')
    write(home, 3, '{hourly_usd: 0.5}')
    home.run('plan', code=9)
    home.run('destroy', 'cluster.yaml', '--auto-approve')


def test_a_saved_plan_keeps_its_limits_and_its_reason(home):
    write(home, 1, '{hourly_usd: 0.5}')
    home.run('plan', '--out', 'p.json', '--override-budget', 'agreed with finance')
    plan = json.loads(home.read('p.json'))['raygpu']
    assert plan['budget_override'] == 'agreed with finance'
    assert plan['limits'] == [{'period': 'hour', 'microusd': 500000,
                               'source': {'file': 'cluster.yaml', 'line': 8, 'column': 22}}]
    document = json.loads(home.read('p.json'))
    del document['raygpu']['budget_override']
    home.write('bare.json', json.dumps(document))
    told = home.run('apply', 'bare.json', code=9)
    assert '[budget.exceeded]' in told.err
    home.run('apply', 'p.json')
    assert json.loads(home.run('log', '--json').out)[0]['budget_override'] == 'agreed with finance'


def test_an_unknown_price_is_no_price_of_nothing(home):
    """A type that the region offers at an unknown price is reported, and not used under a budget."""
    text = spec(pools={'serve': ('T4:1', 1)}).replace('accelerators: "T4:1"', 'instance_type: g6e.xlarge')
    text = text.replace('us-east-1', 'ap-south-1')
    home.write('cluster.yaml', text)
    result = home.run('plan', '--format', 'json')
    own = json.loads(result.out)['raygpu']
    assert own['cost']['after']['unpriced'] == 1
    assert own['cost']['delta'] == {'microusd_hour': None, 'microusd_month': None}
    assert 'at least' in home.run('plan').out
    home.write('cluster.yaml', text + 'budget: {hourly_usd: 1000}\n')
    told = ' '.join(home.run('plan', code=9).err.split())
    assert 'no price is known for g6e.xlarge in ap-south-1 (1 node), so the budget cannot be checked' in told
    assert '[budget.unknown]' in told and 'give the price in `catalog` of raygpu.yaml' in told
    told = home.run('fit', code=9)
    assert 'give the price in `catalog`' in ' '.join(told.err.split())
    [line] = [line for line in told.out.splitlines() if line.startswith('  serve')][-1:]
    assert line.split()[:4] == ['serve', '1', 'unknown', 'unknown']
    home.run('plan', '--override-budget', 'quote by mail')


def test_one_unknown_price_does_not_stand_for_another(home):
    text = spec(pools={'serve': ('T4:1', 1)}).replace('accelerators: "T4:1"', 'instance_type: g6e.xlarge')
    text = text.replace('us-east-1', 'ap-south-1') + 'budget: {hourly_usd: 1000}\n'
    home.write('cluster.yaml', text)
    home.apply('cluster.yaml', '--override-budget', 'quote by mail')
    home.run('plan')
    home.write('cluster.yaml', text.replace('g6e.xlarge', 'g6e.48xlarge'))
    assert 'no price is known for g6e.48xlarge in ap-south-1' in ' '.join(home.run('plan', code=9).err.split())


def test_an_unknown_price_of_spot_is_named_as_such(home):
    text = spec().replace('nodes: 1', 'nodes: 1, market: spot').replace('us-east-1', 'ap-south-1') + 'budget: {hourly_usd: 9}\n'
    home.write('cluster.yaml', text)
    for command in ('fit', 'plan'):
        told = ' '.join(home.run(command, code=9).err.split())
        assert 'no price is known for g4dn.xlarge on spot in ap-south-1 (1 node)' in told


def test_a_budget_holds_in_every_region_with_prices(home):
    """Types without GPUs have a price outside us-east-1 too: m5.2xlarge, g5.xlarge in us-west-2."""
    text = spec(region='us-west-2').replace('accelerators: "T4:1"', 'instance_type: g5.xlarge')
    home.write('cluster.yaml', text + 'budget: {hourly_usd: 1.39}\n')
    own = home.run('plan', '--format', 'json').json()['raygpu']
    assert own['cost']['after'] == {'microusd_hour': 384000 + 1006000, 'microusd_month': 1390000 * 730, 'unpriced': 0}
    said = home.run('plan').err
    assert '[budget.old-prices]' in said and 'prices of 2022-05-22, which are older than a year' in ' '.join(said.split()) and ':8:' in said, said
    home.write('cluster.yaml', text + 'budget: {hourly_usd: 1.389}\n')
    assert '[budget.exceeded]' in home.run('plan', code=9).err
    for region in ('eu-west-1', 'eu-central-1', 'ap-northeast-1', 'ap-southeast-2', 'sa-east-1', 'us-east-2'):
        home.write('cluster.yaml', spec(region=region, extra='budget: {hourly_usd: 2}\n'))
        assert home.run('plan', '--format', 'json').json()['raygpu']['cost']['after']['unpriced'] == 0


def test_sums_of_the_plan(home):
    """Total = sum of pools = sum of markets; delta = after - before; a month is 730 hours."""
    write(home, 1, None)
    home.apply()
    for nodes in (0, 1, 4):
        write(home, nodes, None)
        own = json.loads(home.run('plan', '--format', 'json').out)['raygpu']
        cost, carbon = own['cost'], own['carbon']
        for side in ('before', 'after'):
            hour = sum(p[side]['microusd_hour'] for p in own['pools'])
            assert cost[side]['microusd_hour'] == hour
            assert cost[side]['microusd_month'] == 730 * hour
            assert hour == sum(m[side]['microusd_hour'] for m in cost['markets'])
            assert sum(p[side]['nodes'] for p in own['pools']) == sum(m[side]['nodes'] for m in cost['markets'])
            assert carbon[side]['mg_hour'] == sum(p[side]['carbon_mg_hour'] for p in own['pools'])
        assert cost['after']['microusd_hour'] == HEAD + nodes * T4
        assert cost['delta']['microusd_hour'] == (nodes - 1) * T4
        assert cost['delta']['microusd_month'] == (nodes - 1) * T4 * 730
        assert carbon['delta']['mg_hour'] == carbon['after']['mg_hour'] - carbon['before']['mg_hour']
        # computed manually, src/catalog/data/CARBON.md: 8 vCPUs and 32 GiB; 4 vCPUs, 16 GiB, a T4; at half load
        node, head = (39.5 + 4 * 2.12 + 16 * 0.392), (8 * 2.12 + 32 * 0.392)
        grams = [round(w * 1.135 * 379.07) for w in (node, head)]
        assert carbon['after']['mg_hour'] == grams[1] + nodes * grams[0]
        assert carbon['basis'] == {'region': 'us-east-1', 'year': '2021-2023', 'g_per_kwh': 379.07,
                                   'source': 'cloud-carbon-footprint', 'utilisation_percent': 50}
    markdown = home.run('plan', '--format', 'markdown').out
    assert 'Cost: $0.91 → $2.49 \\(\\+$1.58\\) per hour, $664.30 → $1816.24 \\(\\+$1151.94\\) per month' in markdown
    assert '; 0.036 → 0.106 \\(\\+0.070\\) kg CO2e per hour' in markdown
    text = home.run('plan', '--verbose').out
    assert 'Cost: $0.91 -> $2.49 (+$1.58) per hour' in text
    assert '      $664.30 -> $1816.24 (+$1151.94) per month of 730 hours' in text
    assert re.search(r'Carbon: 0\.036 -> 0\.106 \(\+0\.070\) kg CO2e per hour\n'
                     r' +grid of us-east-1 2021-2023: cloud-carbon-footprint; 50 % utilisation', text)


# ---- policy

PROJECT = '''policy:
  deny_accelerators: [T4]
  required_labels: {team: "ml*"}
'''


def test_the_project_file_holds_for_specs_below_it_and_no_spec_loosens_it(home):
    os.makedirs(home.path('clusters/eu'))
    home.write('raygpu.yaml', PROJECT)
    home.write('clusters/eu/c.yaml', spec(extra='policy: {allow_accelerators: [T4]}\n'))
    told = home.run('validate', 'clusters/eu/c.yaml', code=9)
    assert '[policy.accelerator]' in told.err
    assert 'on clusters/eu/c.yaml:7:25' in told.err and 'policy: raygpu.yaml:2:23' in told.err
    assert '2 |   deny_accelerators: [T4]' in told.err
    home.run('plan', 'clusters/eu/c.yaml', code=9)
    home.run('apply', 'clusters/eu/c.yaml', '--auto-approve', code=9)
    # from inside the folder too
    assert 'policy: ../../raygpu.yaml:2' in home.run('-C', 'clusters/eu', 'validate', 'c.yaml', code=9).err
    # the nearest one counts, and a repository ends the search
    os.makedirs(home.path('clusters/eu/.git'))
    home.run('validate', 'clusters/eu/c.yaml')


def test_a_broken_project_file_stops_everything(home):
    home.write('cluster.yaml', spec())
    home.write('raygpu.yaml', 'policy: {max_node: 3}\n')
    for command in (['validate', 'cluster.yaml'], ['plan']):
        told = home.run(*command, code=4)
        assert 'unknown key "max_node"' in told.err and 'raygpu.yaml:1:10' in told.err
    home.write('raygpu.yaml', 'budget: {hourly_usd: 0.1}\n')
    assert 'raygpu.yaml:1:22' in home.run('plan', code=9).err


def test_a_destroy_needs_nobodys_leave(home):
    home.write('cluster.yaml', spec())
    home.apply()
    home.write('raygpu.yaml', PROJECT + 'budget: {hourly_usd: 0}\n')
    home.run('plan', code=9)
    home.run('destroy', 'cluster.yaml', '--auto-approve')


def test_a_misspelt_accelerator_of_a_policy_is_told(home):
    home.write('cluster.yaml', spec(extra='policy: {deny_accelerators: [V1000, "T?00"]}\n'))
    told = home.run('validate', 'cluster.yaml', code=4)
    assert 'unknown accelerator "V1000"' in told.err and 'cluster.yaml:8:30' in told.err


def test_both_places_in_every_format(home):
    home.write('cluster.yaml', spec())
    home.write('raygpu.yaml', PROJECT)
    found = json.loads(home.run('validate', 'cluster.yaml', '--json', code=9).out)['diagnostics'][0]
    assert found['range']['filename'] == 'cluster.yaml' and found['range']['start']['line'] == 7
    assert found['related'][0]['range']['filename'] == 'raygpu.yaml'
    assert found['related'][0]['snippet']['code'] == '  deny_accelerators: [T4]'
    sarif = json.loads(home.run('plan', '--format', 'sarif', code=9).out)
    result = sarif['runs'][0]['results'][0]
    assert result['locations'][0]['physicalLocation']['artifactLocation']['uri'] == 'cluster.yaml'
    related = result['relatedLocations'][0]
    assert related['message'] == {'text': 'policy'}
    assert related['physicalLocation']['artifactLocation']['uri'] == 'raygpu.yaml'
    assert related['physicalLocation']['region']['startLine'] == 2
    github = home.run('plan', '--format', 'github', code=9).out
    assert re.search(r'^::error file=cluster\.yaml,line=7,.*\(policy: raygpu\.yaml:2\)', github, re.M)
    junit = home.run('plan', '--format', 'junit', code=9).out
    assert ElementTree.fromstring(junit) is not None and 'policy: raygpu.yaml:2' in junit


@pytest.mark.parametrize('policy, change, code', [
    ('max_nodes: 1', {}, 'policy.max-nodes'),
    ('allow_providers: [gcp]', {}, 'policy.provider'),
    ('deny_regions: [us-east-1]', {}, 'policy.region'),
    ('allow_instance_types: ["m5.*", "g5.*"]', {}, 'policy.instance-type'),
    ('allow_accelerators: [A100, "L4*"]', {}, 'policy.accelerator'),
    ('allow_markets: [spot]', {}, 'policy.market'),
    ('required_labels: {team: "research*"}', {}, 'policy.label'),
    ('required_labels: {owner: "*"}', {}, 'policy.label'),
    ('public_addresses: false', {'pool_extra': ', public_ip: true'}, 'policy.public-address'),
    ('unpinned_images: false', {}, 'policy.image'),
])
def test_each_rule_refuses(home, policy, change, code):
    home.write('cluster.yaml', spec(extra=f'policy: {{{policy}}}\n', **change))
    told = home.run('validate', 'cluster.yaml', code=9)
    assert f'[{code}]' in told.err and re.search(r'policy: cluster\.yaml:8:\d+', told.err)


def test_what_a_policy_admits_passes(home):
    policy = ('policy: {max_nodes: 2, allow_providers: [aws], allow_regions: ["us-*"], deny_regions: [us-gov-*],'
              ' allow_instance_types: ["m5.*", g4dn.xlarge], allow_accelerators: [T4], deny_accelerators: [A100],'
              ' allow_markets: [on-demand], required_labels: {team: "m?"}, public_addresses: false,'
              ' unpinned_images: false}\n')
    digest = 'rayproject/ray@sha256:' + '0' * 64
    text = spec(extra=policy, pool_extra=', image: ami-0abcdef1234567890')
    text = re.sub(r'image: "[^"]*"', f'image: "{digest}"', text, count=1)
    text = text.replace('m5.2xlarge}', 'm5.2xlarge, image: ami-0abcdef1234567890}')
    home.write('cluster.yaml', text)
    assert home.run('validate', 'cluster.yaml').err == ''


def test_the_two_schemas_say_the_same_of_limits():
    schemas = []
    for name in ('cluster', 'project'):
        with open(f'{ROOT}/schemas/{name}.schema.json', encoding='utf-8') as f:
            schemas.append(json.load(f))
    common = {name: d for name, d in schemas[1]['$defs'].items() if not name.startswith('own_')}
    assert set(common) == {'budget', 'usd', 'gpu_hours', 'policy', 'policy_names'}
    for name, definition in common.items():
        assert schemas[0]['$defs'][name] == definition, name
