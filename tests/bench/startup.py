#!/usr/bin/env python3
"""Start-up times over `true`, interleaved in one run: usage: startup.py BUILD [ROUNDS]

Prints a Markdown row a command: median and 90th percentile of wall time, and the median minus that of
`true`. The goals (design.md section 12): version below 5 ms, validate of a small spec below 10 ms.
"""
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
times = {name: [] for name in commands}
for _ in range(rounds):
    for name, argv in commands.items():
        start = time.perf_counter()
        pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=actions)
        _, status = os.waitpid(pid, 0)
        times[name].append((time.perf_counter() - start) * 1000)
        assert status == 0, f'{name}: {status}'
base = statistics.median(times['true'])
print(f'| command | median ms | p90 ms | over `true` ms |\n| --- | --- | --- | --- |')
for name, values in times.items():
    middle = statistics.median(values)
    print(f'| {name} | {middle:.2f} | {statistics.quantiles(values, n=10)[8]:.2f} | {middle - base:.2f} |')
