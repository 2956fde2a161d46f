"""Round trips in a row (tests/bench/README.md): requests that do not need another answer are sent together with
it."""
import itertools

import pytest
from program import Home, spec
from rounds import Rounds

# What is asked of a plan's nodes before it is shown, one GetServiceQuota for each of two families
PREFLIGHT = ['DescribeImages', 'DescribeInstanceTypeOfferings', 'DescribeInstanceTypes', 'DescribeInstances',
             'DescribeRouteTables', 'DescribeRouteTables', 'DescribeSubnets', 'GetServiceQuota', 'GetServiceQuota',
             'RunInstances', 'RunInstances']
LISTS = ['DescribeInstances', 'DescribeNetworkInterfaces', 'DescribeSecurityGroups']


@pytest.fixture
def rounds(sim):
    with Rounds(sim) as rounds:
        yield rounds


@pytest.fixture
def home(tmp_path, sim, rounds):
    home = Home(tmp_path, sim.env(AWS_ENDPOINT_URL=rounds.url))
    home.write('cluster.yaml', spec(pools={'serve': 3}))
    return home


def test_a_first_plan_asks_everything_at_once(home, rounds):
    assert rounds.run(home, 'plan', 'cluster.yaml') == [sorted(LISTS + [
        'DescribeImages', 'DescribeInstanceTypeOfferings', 'DescribeSubnets', 'DescribeVpcs', 'GetCallerIdentity']),
        PREFLIGHT]


def test_an_apply_waits_only_for_what_it_names_in_its_next_request(home, rounds):
    plan, preflight, *rest = rounds.run(home, 'apply', 'cluster.yaml', '--auto-approve')
    assert 'DescribeImages' in plan and preflight == PREFLIGHT
    *before, head, workers = rest[:6]
    assert before == [['CreateSecurityGroup'], ['AuthorizeSecurityGroupIngress', 'DescribeSecurityGroups'],
                      ['CreateNetworkInterface'], ['DescribeNetworkInterfaces']]
    assert head == ['RunInstances'], 'workers know its address, which moves with it'
    assert 'RunInstances' in workers, 'as soon as it is accepted, not when it runs'
    waiting = [names for names, _ in itertools.groupby(rest[6:])]  # on a busy machine it looks more often
    assert waiting[-1] == ['GetConsoleOutput'] and len(waiting) <= 2


def test_a_plan_without_changes_takes_one_round(home, rounds):
    rounds.run(home, 'apply', 'cluster.yaml', '--auto-approve')
    assert rounds.run(home, 'plan', 'cluster.yaml') == [sorted(LISTS + ['GetCallerIdentity'])]
    # what a new pool needs is requested while the cloud is read
    home.write('cluster.yaml', spec(pools={'serve': 3, 'more': 1}))
    _, preflight = rounds.run(home, 'plan', 'cluster.yaml')
    assert preflight.count('RunInstances') == 1


def test_an_image_by_name_is_looked_up_first(home, rounds):
    home.write('cluster.yaml', spec(pools={'serve': 3}).replace(
        'head: {', 'head: {image: "ssm:/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-22.04'
        '/latest/ami-id", '))
    names, images, _ = rounds.run(home, 'plan', 'cluster.yaml')
    assert 'GetParameter' in names and images == ['DescribeImages', 'DescribeImages', 'DescribeInstanceTypeOfferings',
                                                  'DescribeSubnets', 'DescribeVpcs']


def test_ones_own_network_is_checked_in_the_same_round(home, rounds, sim):
    subnet = sim.ok('DescribeSubnets').find('subnetSet/item')
    home.write('cluster.yaml', spec(pools={'serve': 3}).replace(
        'region: us-east-1', f'region: us-east-1, vpc: {subnet.findtext("vpcId")}, subnets: '
        f'{{{subnet.findtext("availabilityZone")}: {subnet.findtext("subnetId")}}}'))
    assert len(rounds.run(home, 'plan', 'cluster.yaml')) == 2


def test_a_kind_that_only_the_spec_has_is_read_when_that_is_known(home, rounds):
    home.write('cluster.yaml', spec(pools={'train': ('A100:8', 2)}, pool_extra=', network: {placement: cluster}'))
    assert [len(round) for round in rounds.run(home, 'plan', 'cluster.yaml')] == [8, 1 + len(PREFLIGHT)]
