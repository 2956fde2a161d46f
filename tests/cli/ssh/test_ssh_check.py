"""`raygpu providers check` on the module, whose region is the hosts of a rack."""
import json
import os

from ssh_rack import ours


def test_the_module_passes(home, rack):
    hosts = [{'address': host.folder.name, 'internal_address': host.address} for host in rack.hosts]
    report = home.run('providers', 'check', os.path.join(os.environ['RAYGPU_BUILD'], 'providers/ssh.so'), '--region', 'default', '--json',
                       '--config', json.dumps({'ssh_config': str(rack.config), 'hosts': hosts}), code=None).json()
    failed = {step['step']: step['why'] for step in report['steps'] if step['outcome'] == 'fail'}
    assert not failed and report['passed'] >= 45, report
    assert [ours(host) for host in rack.hosts] == [[]] * len(rack.hosts)
