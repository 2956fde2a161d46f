#!/usr/bin/env python3
"""Start-up times over `true`, interleaved in one run: usage: startup.py BUILD [ROUNDS]

Prints a Markdown row per command: median and 90th percentile of wall time and the median of processor time
(user and system), then the medians of both minus those of `true`. On a busy machine only processor time is
meaningful. The goals: version below 5 ms over `true`, validate of a small spec below 10 ms (README.md)."""
import os
import statistics
import sys
import time

build, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200
top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
raygpu = os.path.join(build, 'cmd/raygpu/raygpu')
commands = {
    'true': ['/bin/true'],
    'raygpu version': [raygpu, 'version'],
    'raygpu -h': [raygpu, '-h'],
    'raygpu validate examples/research.yaml': [raygpu, 'validate', os.path.join(top, 'examples/research.yaml')],
}
null = os.open('/dev/null', os.O_WRONLY)
actions = [(os.POSIX_SPAWN_DUP2, null, 1)]
wall = {name: [] for name in commands}
cpu = {name: [] for name in commands}
for _ in range(rounds):
    for name, argv in commands.items():
        start = time.perf_counter()
        pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=actions)
        _, status, used = os.wait4(pid, 0)
        wall[name].append((time.perf_counter() - start) * 1000)
        cpu[name].append((used.ru_utime + used.ru_stime) * 1000)
        assert status == 0, f'{name}: {status}'
middle = statistics.median
print('| command | wall ms | p90 | CPU ms | wall over `true` | CPU over `true` |\n| --- | --- | --- | --- | --- | --- |')
for name in commands:
    row = [middle(wall[name]), statistics.quantiles(wall[name], n=10)[8], middle(cpu[name]),
           middle(wall[name]) - middle(wall['true']), middle(cpu[name]) - middle(cpu['true'])]
    print(f'| `{name}` | ' + ' | '.join(f'{value:.2f}' for value in row) + ' |')
