"""Every list is read to its end. The simulated clouds begin each list with an empty page; the trace shows that raygpu goes on with the
token of each page, and that this was seen of every list in the modules' source: a new list fails until this test reaches it."""
import collections
import json
import re
import urllib.parse

import pytest
from gce_server import Gce, gce_env
from program import ROOT, Home, spec
from sim_server import Sim

# By name: which lists these commands do not reach, and where their pages are tested.
ELSEWHERE = {'DescribeCapacityReservations',            # by id: never more than one page
             'DescribeIamInstanceProfileAssociations',  # of one instance, of which there is one; the simulator has none
             'objects.list'}                            # tests/cli/state/test_gcs.py
GCP = """cluster: pages
labels: {team: ml}
provider: {name: gcp, region: us-central1}
ray: {version: 2.56.1, python: "3.11", image: "rayproject/ray:2.56.1-py311-cu121"}
head: {instance_type: n2-standard-8}
pools:
  w: {accelerators: "T4:1", nodes: 6}
"""
ECR = 'image: "123456789012.dkr.ecr.us-east-1.amazonaws.com/ray:2.56.1"'


def token_of(body):
    """Of the next page, of any of the APIs."""
    if found := re.search(r'<nextToken>([^<]+)<', body):
        return found.group(1)
    found = re.search(r'"nextPageToken"\s*:\s*("(?:[^"\\]|\\.)*")', body)
    return json.loads(found.group(1)) if found else None


def asked(one):
    words = urllib.parse.urlsplit(one['url']).query + '&' + (one.get('request_body') or '')
    return [value for _, value in urllib.parse.parse_qsl(words)]


def continued(log):
    """How often each list had a next page, which is requested each time."""
    found = collections.Counter()
    for i, one in enumerate(log):
        if one.get('status') == 200 and (token := token_of(one.get('reply_body') or '')):
            assert any(later['what'] == one['what'] and token in asked(later) for later in log[i + 1:]), one
            found[one['what']] += 1
    return found


def run(home, commands):
    """The exchanges of all."""
    log = []
    for command in commands:
        home.run(*command, '--trace', 'trace.jsonl')
        log += [json.loads(line) for line in home.read('trace.jsonl').splitlines()]
    return log


def lists_in(module, pattern):
    texts = [path.read_text(encoding='utf-8') for path in sorted((ROOT / 'providers' / module).glob('*.c'))]
    return {name for text in texts for name in re.findall(pattern, text)} - ELSEWHERE


LIFE = [('apply', 'cluster.yaml', '--auto-approve'), ('apply', 'labels.yaml', '--auto-approve'), ('drift', 'labels.yaml'),
        ('state', 'rebuild', 'labels.yaml', '--state', 'other.db'), ('destroy', 'labels.yaml', '--auto-approve')]


FORMS = pytest.mark.parametrize('form', ['empty-first-page', 'page-size'])  # the first page is empty; each has one entry


@FORMS
def test_gcp_reads_every_page(tmp_path, form):
    with Gce('--boot-ms', '0', '--shutdown-ms', '0', f'--{form}', '1') as gce:
        home = Home(tmp_path, gce_env(gce, RAYGPU_TEST_NO_WAIT='1'))
        home.write('cluster.yaml', GCP)
        home.write('labels.yaml', GCP.replace('team: ml', 'team: vision'))
        log = run(home, LIFE)
        found = continued(log)
        named = lists_in('gcp', r'"(\w+\.(?:list|aggregatedList))"')
        lists = {one['what'] for one in log if re.search(r'\.(list|aggregatedList)$', one['what'])}
        assert len(named) >= 6 and named <= lists and found['instances.aggregatedList'] > 1, named - lists
        assert form == 'page-size' or lists == set(found)
        assert not gce.world()['instances']


def test_gcp_reads_pages_of_which_the_filter_leaves_nothing(tmp_path):
    with Gce('--boot-ms', '0', '--page-size', '9', '--page-before-filter', '1') as gce:
        home = Home(tmp_path, gce_env(gce))
        home.write('cluster.yaml', GCP)
        found = continued(run(home, [('plan', 'cluster.yaml')]))
        assert found['machineTypes.list'] > 4, 'more than one page in each zone'


@FORMS
def test_aws_reads_every_page(tmp_path, form):
    with Sim('--boot-ms', '0', '--shutdown-ms', '0', f'--{form}', '1') as sim:
        sim.knobs(capacity_blocks=[{'type': 'p5.48xlarge', 'zone': 'us-east-1a', 'count': 4, 'hours': 48, 'fee': 1000, 'starts_in_ms': 3600000}])
        home = Home(tmp_path, sim.env())
        text = spec(pools={'w': 3, 'g': ('A100:8', 2)})
        home.write('cluster.yaml', text)
        home.write('labels.yaml', text.replace('team: ml', 'team: vision'))
        profile = text.replace('cluster: research', 'cluster: other').replace('us-east-1}', 'us-east-1, instance_profile: ray}')
        home.write('ecr.yaml', re.sub('image: "[^"]*"', ECR, profile))
        home.write('blocks.yaml', spec('third', pools={'h': ('H100:8', 1)}))
        log = run(home, [*LIFE, ('plan', 'ecr.yaml'), ('offers', 'blocks.yaml', '--blocks', '--days', '2')])
        found = continued(log)
        described = json.loads((ROOT / 'providers/aws/sim/data/requests.json').read_text(encoding='utf-8'))
        named = {name for name in lists_in('aws', r'"(Describe\w+)"') if 'NextToken' in json.dumps(described.get(name, {}))}
        lists = {one['what'] for one in log}
        assert len(named) >= 12 and named <= lists and found['DescribeInstances'] > 1, named - lists
        assert form == 'page-size' or named <= set(found), named - set(found)
        assert not sim.live_instances()


def test_kubernetes_lists_go_through_one_function():
    """Its pages, and what happens if their token expires: tests/unit/test_kube_connection.c."""
    for path in sorted((ROOT / 'providers/kubernetes').glob('*.c')):
        statements = re.split(r'[;{}]', path.read_text(encoding='utf-8'))
        for one in statements:
            if re.search(r'"\w+\.list"|\.list", NULL', one):
                assert re.search(r'\b(kube_pages|kube_report|g_strconcat)\(', one), f'{path.name}: {one.strip()}'
            assert 'limit=' not in one or path.name == 'call.c', f'{path.name}: {one.strip()}'


@pytest.mark.parametrize('option', ['page-size', 'empty-first-page'])
def test_lists_without_pages_have_none(option):
    """DescribePlacementGroups has no NextToken."""
    with Sim(f'--{option}', '1') as sim:
        for name in ('a', 'b'):
            sim.ok('CreatePlacementGroup', {'GroupName': name, 'Strategy': 'cluster'})
        found = sim.ok('DescribePlacementGroups')
        assert len(found.findall('placementGroupSet/item')) == 2 and found.find('nextToken') is None
