"""The serial port of the simulated Compute Engine: what nodes of a cluster report, read in pieces."""
from gce_server import ZONE, bulk, instance

HERE = f'zones/{ZONE}/instances'


def labels(name):
    return {'raygpu-lineage': 'l1', 'raygpu-name': name}


def read(gce, name, start=0):
    answer = gce.get(f'{HERE}/{name}/serialPort', start=str(start), port='1')
    assert int(answer['next']) == int(answer['start']) + len(answer['contents'])
    return answer['contents'], int(answer['next'])


def test_nodes_report_and_join(gce):
    gce.done(gce.insert(HERE, instance('head', labels=labels('head'))))
    gce.done(gce.insert(HERE + '/bulkInsert', bulk(['w-0', 'w-1'], 1, 'n1-standard-8', gpu=('nvidia-tesla-t4', 2),
                                                   labels=labels('w'))))
    text, end = read(gce, 'w-0')
    assert 'step=docker' in text and 'step=gpus' in text
    ident = gce.get(HERE + '/w-0')['id']
    assert ' joined ' in text and f'instance={ZONE}/{ident} gpus=2' in text
    assert read(gce, 'w-0', end) == ('', end)
    head, end = read(gce, 'head')
    assert 'gpus=2' in head and 'step=gpus' not in head
    gce.done(gce.delete(HERE + '/w-1'))
    news, end = read(gce, 'head', end)
    assert news.startswith('raygpu: v1 nodes ') and 'booted' not in news
    assert read(gce, 'head')[0] == head + news, 'what was printed stays'
    assert read(gce, 'head', -10)[0] == (head + news)[-10:]
    assert read(gce, 'head', end + 1000) == ('', end)
    gce.done(gce.call('POST', HERE + '/w-0/stop')[1])
    gce.done(gce.call('POST', HERE + '/w-0/start')[1])
    again, _ = read(gce, 'w-0', len(text))
    assert again.startswith('[    0.000000] Linux') and ' joined ' in again


def test_nodes_that_fail(gce):
    gce.knobs(node_faults=[{'how': 'fail', 'type': 'n1-*', 'step': 'pull', 'reason': 'no space', 'count': 1},
                           {'how': 'silent', 'type': 'e2-standard-8'}])
    for name, type_ in (('a', 'n1-standard-8'), ('b', 'n1-standard-8'), ('c', 'e2-standard-8')):
        gce.done(gce.insert(HERE, instance(name, type_, labels=labels('head'))))
    assert 'code=78 reason="no space"' in read(gce, 'a')[0]
    assert ' joined ' in read(gce, 'b')[0]
    assert 'raygpu:' not in read(gce, 'c')[0] and 'Linux' in read(gce, 'c')[0]


def test_a_machine_of_others(gce):
    gce.done(gce.insert(HERE, instance('a')))
    assert 'raygpu:' not in read(gce, 'a')[0]
    for query in ({'port': '2'}, {'start': 'x'}, {'port': 'one'}):
        assert gce.call('GET', HERE + '/a/serialPort', **query)[0] in (400, 501)
    assert gce.call('GET', HERE + '/none/serialPort')[0] == 404
