#!/usr/bin/python3
"""Four hosts for examples/quickstart.sh --real, until a signal ends them. Writes FOLDER/hosts.yaml when they are there: what specs extend.
usage: rack.py FOLDER"""
import contextlib
import os
import signal
import sys
from pathlib import Path

import pytest
from conftest import VERSIONS, environment, make_image
from ssh_hosts import skip_where_not, ssh_hosts

GPUS = [None, 'A100-40GB:8', 'V100-16GB:4', 'T4:1']


def main(folder):
    version = VERSIONS[0]
    skip_where_not()
    archive = make_image(version)
    (folder / 'ray_version').write_text(version)
    (folder / 'ray_environment').write_text(str(environment(version)))
    (folder / 'hosts').mkdir()
    wishes = [{'gpus': gpus, 'image': (archive, f'rayproject/ray:{version}-py311-cu121')} for gpus in GPUS]
    with ssh_hosts(wishes, folder / 'hosts') as rack:
        lines = [f'    - {{address: {host.folder.name}, internal_address: {host.address}{f", gpus: {gpus}" if gpus else ""}}}'
                 for host, gpus in zip(rack.hosts, GPUS)]
        written = folder / 'hosts.yaml.new'
        written.write_text('\n'.join(['provider:', '  name: ssh', f'  ssh_config: {rack.config}', '  hosts:', *lines, '']))
        os.rename(written, folder / 'hosts.yaml')
        signal.sigwait({signal.SIGTERM, signal.SIGINT})


if __name__ == '__main__':
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    with contextlib.suppress(KeyboardInterrupt):
        try:
            main(Path(sys.argv[1]))
        except pytest.skip.Exception as why:
            sys.exit(str(why))
