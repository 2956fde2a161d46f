"""Runs programs and says what they used: wall and processor time, peak memory; medians and Markdown tables."""
import os
import statistics
import subprocess
import threading
import time


class Used:
    """What one run of a program took. cpu: user and system; rss: peak, of the program alone."""

    def __init__(self, wall_s, usage, code, out=''):
        self.wall_s = wall_s
        self.cpu_s = usage.ru_utime + usage.ru_stime
        self.rss_mib = usage.ru_maxrss / 1024
        self.code = code
        self.out = out


def run(argv, cwd=None, env=None, timeout=900):
    """Runs argv to its end; stdout in a file, so that reading it costs nobody time. Killed after `timeout` s."""
    with open(os.path.join(cwd or '.', '.bench-out'), 'w+b') as out:
        start = time.perf_counter()
        child = subprocess.Popen(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out,
                                 stderr=subprocess.STDOUT)
        watch = threading.Timer(timeout, child.kill)
        watch.start()
        _, status, usage = os.wait4(child.pid, 0)
        wall_s = time.perf_counter() - start
        watch.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        return Used(wall_s, usage, child.returncode, out.read().decode(errors='replace'))


def politely(argv):
    """argv under the usual scheduler, ahead of others: under `chrt -f` Go's spinning threads let no server run."""
    return ['chrt', '-o', '0', 'nice', '-n', '-15', *argv]


def median(runs, name):
    return statistics.median(getattr(used, name) for used in runs)


def seconds(value):
    return f'{value:.0f}' if value >= 100 else f'{value:.2f}' if value >= 0.1 else f'{value:.3f}'


def table(head, rows):
    lines = [head, ['---'] * len(head), *rows]
    return '\n'.join('| ' + ' | '.join(map(str, line)) + ' |' for line in lines)
