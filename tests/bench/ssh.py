"""Inventories of any size over ssh, whose hosts are a stand-in for ssh: connections, memory and time of a first plan, an apply of all hosts and a
plan without changes. What the stand-in itself takes is in the time, so the hosts are also asked by it alone, as many at a time as raygpu does."""
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from measure import run, seconds, table
from program import ROOT, binary

sys.path.append(str(Path(__file__).resolve().parents[1] / 'cli/ssh'))
from ssh_many_home import ManyHome  # noqa: E402  pylint: disable=wrong-import-position

HEAD = ['hosts', 'command', 'connections', 'most to a host', 'wall s', 'CPU s', 'peak MiB', 'against the stand-in']
TOGETHER = 32  # exec.c
MOST = {'first plan': 2, 'apply': 5, 'no-op plan': 1}  # connections to a host


def write_spec(home, hosts):
    home.write('cluster.yaml', '\n'.join([
        'cluster: many', 'provider:', '  name: ssh', '  hosts:', '    - {address: head}', f'    - {{address: "gpu[00001-{hosts - 1:05}]", gpus: "A100-80GB:8"}}',
        'ray: {version: 2.56.1, python: "3.11"}', 'head: {instance_type: cpu}', 'pools:',
        f'  train: {{accelerators: "A100-80GB:8", nodes: {hosts - 1}}}', '']))


def alone(home, calls):
    """Seconds that so many calls of the stand-in take."""
    text = f'\n\nmark=x\n{(ROOT / "providers/ssh/host.sh").read_text(encoding="utf-8")}\nprobe\nexit 0\n'

    def ask(number):
        subprocess.run([home.path('bin/ssh'), f'gpu{number}', 'exec bash -s'], input=text, text=True, env=home.env, stdout=subprocess.DEVNULL, check=True)
    start = time.perf_counter()
    with ThreadPoolExecutor(TOGETHER) as pool:
        list(pool.map(ask, range(calls)))
    home.connections()
    return time.perf_counter() - start


def rows(hosts):
    folder = tempfile.mkdtemp(prefix='raygpu-bench-')
    try:
        home = ManyHome(folder)
        write_spec(home, hosts)
        for name, command in (('first plan', ['plan']), ('apply', ['apply', '--auto-approve', '--no-wait']), ('no-op plan', ['plan', '--detailed-exitcode'])):
            used = run([binary(), *command[:1], 'cluster.yaml', *command[1:]], cwd=folder, env=home.env)
            asked = home.connections()
            if used.code or max(asked.values()) > MOST[name] or len(asked) != hosts:
                raise RuntimeError(f'{name} of {hosts} hosts: {max(asked.values())} connections to one of {len(asked)}, {used.code}:\n{used.out[-3000:]}')
            calls = sum(asked.values())
            yield [f'{hosts:,}', name, f'{calls:,}', max(asked.values()), seconds(used.wall_s), seconds(used.cpu_s), round(used.rss_mib),
                   f'{used.wall_s / alone(home, calls):.1f}']
        if len(os.listdir(home.path('rack'))) != hosts:
            raise RuntimeError('not all hosts are claimed')
    finally:
        shutil.rmtree(folder)


def section(sizes):
    print('### Hosts over ssh\n')
    print(table(HEAD, [row for hosts in sizes for row in rows(hosts)]), '\n', flush=True)
