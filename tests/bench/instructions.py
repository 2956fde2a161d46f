#!/usr/bin/env python3
"""Instructions of commands, in millions, as callgrind counts them: nearly the same however busy the machine is.

usage: instructions.py BUILD [NODES]

NODES: of the plan without changes (10,000). Prints a Markdown table. Each command must give the right answer."""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), 'cli')]
os.environ['RAYGPU_BUILD'] = os.path.abspath(sys.argv[1])
from brain import SPEC, TOP
from measure import table
from program import binary
from world import Pages, World


def row(name, words, says, folder, env=None):
    done = subprocess.run(['valgrind', '--tool=callgrind', '--callgrind-out-file=/dev/null', binary(), *words], cwd=folder,
                          env=env, capture_output=True, text=True, timeout=3600, check=False)
    if done.returncode or says not in done.stdout:
        raise RuntimeError(f'{words} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}')
    return [name, f'{int(re.search("Collected : ([0-9]+)", done.stderr)[1]) / 1e6:,.1f}']


def main():
    nodes = int(sys.argv[2]) if len(sys.argv) > 2 else 10000
    with tempfile.TemporaryDirectory(prefix='raygpu-bench-') as folder:
        with open(os.path.join(folder, 'big.yaml'), 'w', encoding='utf-8') as file:
            file.write(SPEC)
        research = os.path.join(TOP, 'examples/research.yaml')
        rows = [row('`version`', ['version'], 'raygpu', folder),
                row('`-h`', ['-h'], 'validate', folder),
                row('`validate examples/research.yaml`', ['validate', research], 'is valid', folder),
                row('`fit big.yaml` (brain.py)', ['fit', 'big.yaml'], 'all of them fit at once', folder)]
        world = World(os.path.join(folder, 'world'), nodes)
        with Pages(world) as pages:
            rows.append(row(f'`plan` without changes, {nodes:,} nodes', ['plan', 'cluster.yaml'], 'No changes.', world.folder, pages.env()))
    print(table(['command', 'millions of instructions'], rows))


if __name__ == '__main__':
    main()
