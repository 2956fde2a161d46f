"""The stream of --json and --json-into: raygpu-events(5). `result.events()` validates each message by its schema."""
import json
import os

import events
import pytest
import terraform_reader
from program import ROOT, spec
from shared import home, sim  # noqa: F401

NODE = 'aws.instance.serve[0]'


def addresses(messages, key):
    return [m[key]['resource']['addr'] for m in messages]


def test_a_program_for_terraform_reads_terraforms_stream():
    run = terraform_reader.read((ROOT / 'tests/data/terraform/apply.jsonl').read_text())
    assert run.planned['aws_instance.head'] == ('replace', 'cannot_update')
    assert run.drifted == {'aws_security_group.nodes': 'update'}
    assert run.summaries == {'plan': {'add': 3, 'change': 1, 'remove': 1}, 'apply': {'add': 2, 'change': 1, 'remove': 1}}
    assert run.failed == [('aws_instance.serve[1]', 'create')] and run.waited == 14 and run.ids['aws_instance.head'] == 'i-2'
    assert run.outputs == {'head_address': '10.0.0.7', 'ids': ['i-2', 'i-3']}
    assert run.marked == ['old = 1'[:5]]
    assert [p[0] for p in run.problems] == ['warning', 'error'] and len(run.others) == 2


def test_the_same_program_reads_ours(sim, home):
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    run = terraform_reader.read(home.run('apply', '--auto-approve', '--json').out)
    assert len(run.planned) == 6 and set(run.planned.values()) == {('create', None)}
    assert run.summaries == {'plan': {'add': 6}, 'apply': {'add': 6}}
    assert sorted(run.done) == sorted(run.begun) == sorted((address, 'create') for address in run.planned)
    nodes = {i['instanceId'] for i in sim.live_instances()}
    assert nodes == {run.ids[a] for a in run.ids if a.startswith('aws.instance.')} and len(nodes) == 3
    assert run.outputs == home.run('output', '--json').json() and not run.problems

    # another type replaces the nodes; one was changed and one ended outside
    victim, = (i for i in sim.live_instances() if i['instanceId'] == run.ids[NODE])
    sim.ok('TerminateInstances', {'InstanceId.1': victim['instanceId']})
    home.write('cluster.yaml', spec(pools={'serve': 2}, head='m5.4xlarge'))
    again = terraform_reader.read(home.run('apply', '--auto-approve', '--json').out)
    assert again.drifted == {NODE: 'delete'} and again.planned[NODE] == ('create', None)
    head = 'aws.instance.head'
    assert again.planned[head] == ('replace', 'cannot_update')
    assert again.done.index((head, 'delete')) < again.done.index((head, 'create'))
    assert again.summaries['apply'] == {'add': 2, 'remove': 1}

    gone = terraform_reader.read(home.run('destroy', '--auto-approve', '--json').out)
    assert gone.summaries == {'plan': {'remove': 6}, 'destroy': {'remove': 6}} and not gone.outputs
    assert {action for _, action in gone.done} == {'delete'} and not sim.live_instances()


def test_it_reads_what_failed(sim, home):
    sim.knobs(capacity={'p4d.24xlarge': {'*': 0}})
    home.write('cluster.yaml', spec(pools={'serve': ('A100:8', 1)}))
    result = home.run('apply', '--auto-approve', '--json', code=3)
    sim.knobs(capacity={})
    run = terraform_reader.read(result.out)
    assert run.failed == [(NODE, 'create')] and run.summaries['apply'] == {'add': 4}
    assert [p[0] for p in run.problems] == ['error'] and len(run.planned) == len(run.done) + 1
    errored, = result.events('apply_errored')
    assert errored['raygpu']['error']['code'] == 'provider.capacity' and errored['raygpu']['pool'] == 'serve'
    last = result.summary()
    assert (last['exit_code'], last['errors']) == (3, 1) and last['clusters'][0]['outcome'] == 'partial'
    assert last['clusters'][0]['tried'][0]['instance_type'] == 'p4d.24xlarge'
    assert result.told()[0]['code'] == 'provider.capacity'


def test_a_bad_spec_is_a_diagnostic_with_its_place(home):
    home.write('cluster.yaml', '# für alle\n' + spec().replace('nodes: 1', 'nodes: none'))
    for command in ('plan', 'apply', 'drift', 'destroy'):
        result = home.run(command, '--json', code=4)
        run = terraform_reader.read(result.out)
        assert run.problems[0][0] == 'error' and run.problems[0][2] == 8 and run.marked[0] == 'none'
        told = result.told()[0]['range']
        assert home.read('cluster.yaml').encode()[told['start']['byte']:told['end']['byte']] == b'none'
        assert result.told()[0]['code'].startswith('spec.') and result.err == ''
        assert result.summary()['command'] == command


def test_drift_has_the_rows_of_its_document(sim, home):
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    ids = terraform_reader.read(home.run('apply', '--auto-approve', '--json').out).ids
    first, second = ids[NODE], ids['aws.instance.serve[1]']
    sim.ok('TerminateInstances', {'InstanceId.1': first})
    sim.ok('CreateTags', {'ResourceId.1': second, 'Tag.1.Key': 'team', 'Tag.1.Value': 'other'})
    document = home.run('drift', '--no-settle', '--format', 'json', code=2).json()
    result = home.run('drift', '--no-settle', '--json', code=2)
    rows = [e['raygpu']['drift'] for e in result.events() if 'drift' in e['raygpu']]
    assert rows == document['drift'] and {r['type'] for r in rows} == {'missing', 'changed'}
    assert terraform_reader.read(result.out).drifted == {NODE: 'delete', 'aws.instance.serve[1]': 'update'}
    row, = result.summary()['clusters']
    assert row['status'] == 'drift' and row['exit_code'] == 2
    assert row['drift'] == {name: document[name] for name in ('has_drift', 'errored', 'unread', 'checked', 'counts')}
    home.run('state', 'rm', 'aws.instance.serve[1]')
    unmanaged, = home.run('drift', '--no-settle', '--json', code=2).events('raygpu_unmanaged')
    assert unmanaged['raygpu']['drift']['id'] == second


def test_the_last_line_of_a_plan(home):
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    result = home.run('plan', '--json', '--out', 'p.json', '--detailed-exitcode', code=2)
    plan = home.run('show', 'p.json', '--json').json()
    assert addresses(result.events('planned_change'), 'change') == [
        c['address'] for c in plan['resource_changes'] if c['change']['actions'] != ['no-op']]
    row, = result.summary()['clusters']
    assert (row['saved'], row['status'], row['exit_code']) == ('p.json', 'changes', 2)
    assert row['microusd_hour']['after'] == plan['raygpu']['cost']['after']['microusd_hour']
    assert row['gpus'] == {'T4': {'before': 0, 'after': 2}} and result.summary()['exit_code'] == 2


def test_several_clusters_are_one_stream(home):
    os.mkdir(home.path('c'))
    for name in 'ab':
        home.write(f'c/{name}.yaml', spec(name))
    home.write('c/x.yaml', 'cluster: x\nray: 1\n')
    home.env['RAYGPU_STATE'] = '.raygpu/state.db'
    result = home.run('plan', 'c', '--json', code=4)
    assert {e['raygpu']['cluster'] for e in result.events('planned_change')} == {'a', 'b'}
    assert [c['status'] for c in result.summary()['clusters']] == ['changes', 'changes', 'failed']
    assert result.summary()['totals']['counts']['add'] == 10 and len(result.events('change_summary')) == 1
    assert {e['raygpu'].get('cluster') for e in result.events('diagnostic')} == {'x'}
    done = home.run('apply', 'c', '--auto-approve', '--json', code=4)
    assert {e['raygpu']['cluster'] for e in done.events('apply_complete')} == {'a', 'b'}
    assert [e['raygpu']['cluster'] for e in done.events('outputs')] == ['a', 'b']
    assert terraform_reader.read(done.out).summaries == {'plan': {'add': 10}, 'apply': {'add': 10}}


def test_what_was_not_tried(sim, home):
    home.write('cluster.yaml', spec())
    sim.fault(action='CreateSecurityGroup', status=400, code='Odd', message='no', count=0)
    result = home.run('apply', '--auto-approve', '--json', code=3)
    blocked = {e['raygpu']['address']: e['raygpu']['failed'] for e in result.events('raygpu_blocked')}
    assert set(blocked) == {'aws.network_interface.head', 'aws.instance.head', NODE}
    assert blocked['aws.network_interface.head'] == 'aws.security_group.nodes'
    assert result.summary()['clusters'][0]['counts']['blocked'] == 3
    run = terraform_reader.read(result.out)
    assert run.failed == [('aws.security_group.nodes', 'create')] and len(run.others) >= 3


def test_a_wait_names_what_it_waits_for(sim, home):
    home.write('cluster.yaml', spec())
    home.apply()
    sim.fault(action='DeleteSecurityGroup', status=400, code='DependencyViolation', message='in use', count=0)
    process = home.start('destroy', '--auto-approve', '--json')
    said, wait = [], None
    while not wait:
        said.append(process.stdout.readline())
        message = json.loads(said[-1])
        if message['type'] == 'apply_progress' and message['hook']['resource']['addr'] == 'aws.security_group.nodes':
            wait = message
    sim.faults_clear()
    said.append(process.stdout.read())
    assert process.wait() == 0
    assert wait['hook']['action'] == 'delete' and wait['raygpu']['waits_for'] == 'in use'
    assert terraform_reader.read(''.join(said)).summaries['destroy'] == {'remove': 5}


def test_a_gang_that_cannot_be_completed(sim, home):
    home.write('cluster.yaml', spec(pools={'serve': 3}, pool_extra=', gang: true'))
    sim.knobs(capacity={'*': {'*': 2}})
    result = home.run('apply', '--auto-approve', '--json', code=3)
    sim.knobs(capacity={})
    assert result.events('raygpu_gang')[0]['@level'] == 'warn' and 'gang' in result.events('raygpu_gang')[0]['@message']
    assert result.events('raygpu_moved') and result.events('apply_errored')


def test_a_retry_is_a_line_of_the_log(sim, home):
    home.write('cluster.yaml', spec())
    sim.fault(action='DescribeVpcs', status=503, code='RequestLimitExceeded', message='slow down', count=1, retry_after=1)
    result = home.run('plan', '--json')
    logged, = result.events('log')
    assert logged['@message'].startswith('DescribeVpcs: status 503; trying again in ') and result.err == ''


def test_a_name_that_is_not_utf_8(home):
    name = os.fsdecode(b'cl\xff.yaml')
    os.makedirs(home.path('c'))
    with open(home.path(f'c/{name}'), 'w', encoding='utf-8') as f:
        f.write(spec())
    for command in (['plan', 'c'], ['plan', f'c/{name}'], ['apply', f'c/{name}', '--auto-approve'], ['drift', 'c', '--no-settle']):
        result = home.run(*command, '--json', code=None)
        row, = result.summary()['clusters']
        assert 'c/cl\ufffd.yaml' in (row.get('spec'), row.get('file')), result


# --- where it goes ------------------------------------------------------------------------------

def without_times(text):
    kept = []
    for message in events.read(text):
        message.pop('@timestamp')
        message['raygpu'].pop('elapsed_seconds', None)
        kept.append(message)
    return kept


def test_the_stream_beside_the_text(sim, home):
    home.write('cluster.yaml', spec())
    home.write('f.jsonl', 'of an earlier run\n' * 9000)
    plain, both = home.run('plan'), home.run('plan', '--json-into', 'f.jsonl')
    assert (both.out, both.err) == (plain.out, plain.err)
    assert without_times(home.read('f.jsonl')) == without_times(home.run('plan', '--json').out)
    os.remove(home.path('f.jsonl'))
    done = home.run('apply', '--auto-approve', '--json-into', 'f.jsonl')
    assert 'Apply complete! Resources: 5 added' in done.out and f'{NODE}: Creating...' in done.err
    assert os.stat(home.path('f.jsonl')).st_mode & 0o777 == 0o600
    run = terraform_reader.read(home.read('f.jsonl'))
    assert len(run.done) == 5 and run.summaries['apply'] == {'add': 5}
    drift = home.run('drift', '--format', 'markdown', '--json-into', 'f.jsonl')
    assert drift.out.startswith('<!-- raygpu:drift:research -->') and events.read(home.read('f.jsonl'))
    twice = home.run('plan', '--json', '--json-into', 'f.jsonl')
    assert home.read('f.jsonl') == twice.out


def test_a_file_that_cannot_be_written(sim, home):
    home.write('cluster.yaml', spec())
    for command in (['plan'], ['apply', '--auto-approve'], ['drift']):
        said = home.run(*command, '--json-into', 'no/f.jsonl', code=1)
        assert '"no/f.jsonl" cannot be written: No such file or directory' in said.err
        told, = home.run(*command, '--json-into', 'no/f.jsonl', '--json', code=1).told()
        assert told['code'] == 'file.unwritable'
    assert not sim.live_instances() and sim.counters()['mutating'] == 0


def test_a_full_disk_stops_no_apply(sim, home):
    home.write('cluster.yaml', spec())
    said = home.run('apply', '--auto-approve', '--json-into', '/dev/full', code=1)
    assert '"/dev/full" cannot be written: No space left on device' in ' '.join(said.err.split())
    assert 'Apply complete! Resources: 5 added' in said.out and len(sim.live_instances()) == 2
    home.run('plan', '--detailed-exitcode')


def test_a_reader_that_goes_stops_no_apply(sim, home):
    home.write('cluster.yaml', spec())
    process = home.start('apply', '--auto-approve', '--json')
    assert json.loads(process.stdout.readline())['type'] == 'version'
    process.stdout.close()
    assert process.wait(300) == 0 and process.stderr.read() == ''
    home.run('plan', '--detailed-exitcode')


@pytest.mark.parametrize('at', ['apply_start', 'apply_complete'])
def test_what_was_written_before_a_kill_is_whole(sim, home, at):
    home.write('cluster.yaml', spec())
    sim.knobs(latency_ms=300)
    process = home.start('apply', '--auto-approve', '--json', '--json-into', 'f.jsonl')
    said = []
    while not said or json.loads(said[-1])['type'] != at:
        said.append(process.stdout.readline())
    process.kill()
    said += list(process.stdout)
    process.wait()
    sim.knobs(latency_ms=0)
    for line in said:
        events.schema().validate(json.loads(line))
    assert home.read('f.jsonl').startswith(''.join(said))
    assert all(json.loads(line)['type'] != 'outputs' for line in said), 'it was killed before its end'
    home.apply()
    home.run('plan', '--detailed-exitcode')
    assert len(sim.live_instances()) == 2


def test_an_interrupt_is_a_message(sim, home):
    home.write('cluster.yaml', spec())
    sim.knobs(latency_ms=300)
    process = home.start('apply', '--auto-approve', '--json')
    said = []
    while not said or json.loads(said[-1])['type'] != 'apply_start':
        said.append(process.stdout.readline())
    process.terminate()
    said.append(process.stdout.read())
    process.wait()
    sim.knobs(latency_ms=0)
    messages = events.read(''.join(said))
    assert process.returncode == 130 == messages[-1]['raygpu']['exit_code']
    assert [m['@level'] for m in messages if m['type'] == 'raygpu_interrupted'][:1] == ['warn']
    assert messages[-1]['raygpu']['clusters'][0]['outcome'] == 'interrupted'
    home.apply()


def test_the_token_is_named_and_never_shown(home):
    home.write('cluster.yaml', spec())
    result = home.run('apply', '--auto-approve', '--json')
    outputs = result.events('outputs')[0]['outputs']
    assert outputs['ray_token'] == {'sensitive': True, 'type': 'string'}
    token = home.run('output', 'ray_token').out.strip()
    assert len(token) >= 32 and token not in result.out + home.run('plan', '--json').out


def test_it_asks_nothing(sim, home):
    home.write('cluster.yaml', spec())
    told, = home.run('apply', '--json', code=4).told()
    assert told['code'] == 'apply.no-terminal' and '--auto-approve' in told['hint'] and not sim.live_instances()
    home.run('plan', '--out', 'p.json')
    assert home.run('apply', 'p.json', '--json').summary()['clusters'][0]['file'] == 'p.json'
