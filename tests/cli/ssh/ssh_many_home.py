"""A user's folder with an inventory of any size, whose hosts are a stand-in for ssh."""
import os
import shutil
from pathlib import Path

from program import Home

HERE = Path(__file__).parent


class ManyHome(Home):
    def __init__(self, folder):
        super().__init__(folder)
        for name in ('bin', 'rack'):
            (Path(folder) / name).mkdir()
        shutil.copy(HERE / 'many_ssh.sh', Path(folder) / 'bin/ssh')
        self.env.update(PATH=f'{folder}/bin:{self.env["PATH"]}', RACK=f'{folder}/rack', XDG_RUNTIME_DIR='')

    def connections(self):
        """Since the last time: {host: number}."""
        path = self.path('rack/connections')
        with open(path, encoding='ascii') as f:
            hosts = f.read().split()
        os.remove(path)
        return {host: hosts.count(host) for host in hosts}

    def claimed(self):
        return sorted(set(os.listdir(self.path('rack'))) - {'connections'})
