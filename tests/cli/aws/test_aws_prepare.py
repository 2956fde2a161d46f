"""Commands and mounts of the spec in plan and apply: part of what nodes boot from, so a change makes new nodes."""
import base64
import gzip
import json

import yaml

from program import spec
from sim_server import tags_of

MOUNT = '{path: /mnt/data, source: "10.0.0.9:/export", type: nfs4}'


def cluster(extra='', **more):
    return spec(pools={'serve': 1}, extra=extra, **more)


def conf_of(sim, pool):
    (node,) = [i for i in sim.live_instances() if tags_of(i)['raygpu:pool'] == pool]
    world = sim.world('us-east-1')
    (data,) = [u['data'] for u in world['user_data'] if u['digest'] == node['_userData']]
    raw = base64.b64decode(data)
    text = (gzip.decompress(raw) if raw[:2] == b'\x1f\x8b' else raw).decode()
    files = {f['path']: f['content'] for f in yaml.safe_load(text)['write_files']}
    return files['/etc/raygpu/node.conf']


def test_a_change_of_them_makes_new_nodes_and_names_the_field(sim, home):
    home.write('cluster.yaml', cluster(f'setup_commands: ["pip install secret=one"]\nmounts: [{MOUNT}]\n'))
    home.apply()
    assert "  'pip install secret=one'\n" in conf_of(sim, 'serve') and "  '10.0.0.9:/export'\n" in conf_of(sim, 'head')
    assert 'No changes.' in home.run('plan', '--no-settle').out
    # the same commands, now the pool's own: nothing changes there
    home.write('cluster.yaml', cluster(f'mounts: [{MOUNT}]\n', pool_extra=', setup_commands: ["pip install secret=one"]')
               .replace('head: {', 'head: {setup_commands: ["pip install secret=two"], '))
    said = home.run('plan', '--no-settle', '--out', 'plan.json').out
    assert 'Plan: 1 to add, 0 to change, 1 to destroy.' in said and 'aws.instance.head must be replaced' in said, said
    assert 'setup_commands' in said and 'secret=two' not in said, said
    assert 'secret=two' not in json.dumps(home.run('show', 'plan.json', '--json').json()['resource_changes'])
    home.apply('cluster.yaml', '--no-settle')
    assert "  'pip install secret=two'\n" in conf_of(sim, 'head')
    home.run('plan', '--no-settle', '--detailed-exitcode')


def test_a_mount_that_fails_is_told_with_its_step(sim, home):
    reason = "can't mount 10.0.0.9:/export at /mnt/data: mount.nfs4: Connection timed out (8 tries)"
    sim.knobs(node_faults=[{'how': 'fail', 'type': 'g4dn*', 'count': 1, 'step': 'mount', 'reason': reason}])
    home.write('cluster.yaml', cluster(f'mounts: [{MOUNT}]\n', pool_extra=', ready_timeout: 4'))
    said = home.apply('cluster.yaml', '--max-replacements', '0', code=3)
    assert f'aws.instance.serve[0] did not join Ray: step mount failed: {reason}' in ' '.join(said.err.split()), said
