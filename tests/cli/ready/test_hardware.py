"""GPUs that failed are remembered: by apply, in the state, by drift; getting one of them again is noticed."""
import json

import pytest
from program import spec
from sim_server import tags_of

NODE = 'aws.instance.serve[0]'
REASON = 'GPU 0: Xid 79, GPU has fallen off the bus'


def write(home, nodes=1):
    home.write('cluster.yaml', spec(pools={'serve': nodes}, pool_extra=', ready_timeout: 30'))


@pytest.fixture
def broken(home, sim):
    """The GPU of the first node fails, and the cloud gives the same machine again."""
    sim.knobs(same_hosts=1, node_faults=[
        {'how': 'fail', 'type': 'g4dn*', 'count': 1, 'step': 'gate', 'reason': REASON, 'gpu': 0}])
    write(home)
    return home


def words(text):
    return ' '.join(text.split())


def pool(sim):
    return [i['instanceId'] for i in sim.live_instances() if tags_of(i)['raygpu:pool'] == 'serve']


def gpus(home, *options):
    return home.run('state', 'hardware', '--json', *options).json()


def test_a_failure_names_its_gpu(broken, sim):
    result = broken.apply('cluster.yaml', '--max-replacements', '0', '--json', code=3)
    document = result.summary()
    failed, = document['clusters'][0]['ready']['failed']
    gpu, = failed['gpus']
    assert gpu['gpu'].startswith('GPU-') and gpu['serial'].startswith('13205240')
    diag, = [d for d in result.told() if d['code'] == 'ready.failed']
    assert f'bad GPU: {gpu["gpu"]}, serial number {gpu["serial"]}\n' in diag['detail']
    row, = gpus(broken)
    assert (row['gpu'], row['id'], row['address'], row['code'], row['reason'], row['instance_type']) == (
        gpu['gpu'], pool(sim)[0], NODE, 78, REASON, 'g4dn.xlarge')
    assert row['run'] == broken.run('log', '--json').json()[0]['id']
    text = broken.run('state', 'hardware').out
    assert gpu['gpu'] in text and REASON in text and NODE in text


def test_the_same_gpu_again_is_no_node(broken, sim):
    text = words(broken.apply('cluster.yaml', '--max-replacements', '1', code=3).err)
    assert f'Warning: {NODE} did not join Ray: step gate failed: {REASON}' in text
    gpu = gpus(broken)[0]['gpu']
    assert f'Error: {NODE} is not used: the cloud gave back the same GPU, {gpu}, that failed on 2' in text
    assert f'as part of {NODE}: {REASON} [ready.same-gpu]' in text
    assert len(pool(sim)) == 1 and [row['gpu'] for row in gpus(broken)] == [gpu, gpu]
    assert gpus(broken)[1]['id'] == pool(sim)[0]
    drift = words(broken.run('drift', 'cluster.yaml', code=2).out)
    assert f'# {NODE} was given the same GPU, {gpu}, that failed on 2' in drift
    again = words(broken.apply('cluster.yaml', '--max-replacements', '0', code=3).err)
    assert 'the cloud gave back the same GPU' in again, 'it stays unused'


def test_every_replacement_counts(broken, sim):
    result = broken.apply('cluster.yaml', '--max-replacements', '3', code=3)
    assert result.err.count('Destruction complete') == 3
    assert words(result.err).count('is not used: the cloud gave back the same GPU') == 3


def test_another_machine_ends_it(broken, sim):
    broken.apply('cluster.yaml', '--max-replacements', '1', code=3)
    sim.knobs(same_hosts=0)
    result = broken.apply('cluster.yaml', '--replace', NODE)
    assert 'Ray: serve 1 of 1 joined' in result.err
    assert broken.run('drift', 'cluster.yaml').out.startswith('No drift.')
    assert len(gpus(broken)) == 2, 'they are remembered'


def test_a_gpu_that_is_forgotten_is_used(broken, sim):
    broken.apply('cluster.yaml', '--max-replacements', '1', code=3)
    gpu = gpus(broken)[0]['gpu']
    assert broken.run('state', 'forget-hardware', gpu).out == f'Forgot {gpu}.\n'
    assert gpus(broken) == []
    assert 'is not known as bad' in words(broken.run('state', 'forget-hardware', gpu, code=4).err)
    assert 'Ray: serve 1 of 1 joined' in broken.apply().err
    assert broken.run('drift', 'cluster.yaml').out.startswith('No drift.')


def test_a_node_that_works_after_all_has_no_bad_gpu(home, sim):
    write(home)
    sim.knobs(node_faults=[{'how': 'fail', 'type': 'g4dn*', 'count': 1, 'step': 'gate', 'reason': REASON, 'gpu': 0}])
    home.apply('cluster.yaml', '--max-replacements', '0', code=3)
    drift = words(home.run('drift', 'cluster.yaml', code=2).out)
    assert f'# {NODE} has a bad GPU, {gpus(home)[0]["gpu"]}, which failed on 2' in drift


def test_only_nodes_that_may_have_it_are_read(broken, sim):
    broken.apply('cluster.yaml', '--max-replacements', '0', code=3)
    write(broken, 4)
    sim.counters_reset()
    broken.apply('cluster.yaml', '--max-replacements', '0', code=3)
    # the head, the failed one, and each of the three new ones once
    reads = sim.counters()['actions']['GetConsoleOutput']['requests']
    assert 5 <= reads <= 8, reads


def test_the_memory_travels_with_the_state(broken, home, sim, tmp_path):
    broken.apply('cluster.yaml', '--max-replacements', '0', code=3)
    known = gpus(broken)
    document = broken.run('state', 'pull').json()
    assert [row['gpu'] for row in document['clusters'][0]['hardware']] == [known[0]['gpu']]
    broken.write('pulled.json', json.dumps(document))
    other = ('--state', str(tmp_path / 'other.db'))
    broken.run('state', 'push', 'pulled.json', *other)
    assert gpus(broken, *other) == known
