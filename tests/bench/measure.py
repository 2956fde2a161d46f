"""Runs programs and says what they used: wall and processor time, peak memory; medians and Markdown tables."""
import os
import statistics
import subprocess
import time


class Used:
    """What one run of a program took. cpu: user and system; rss: peak, of the program alone."""

    def __init__(self, wall_s, usage, code, out=''):
        self.wall_s = wall_s
        self.cpu_s = usage.ru_utime + usage.ru_stime
        self.rss_mib = usage.ru_maxrss / 1024
        self.code = code
        self.out = out


def run(argv, cwd=None, env=None, timeout=None):
    """Runs argv to its end; stdout in a file, so that reading it costs nobody time."""
    with open(os.path.join(cwd or '.', '.bench-out'), 'w+b') as out:
        start = time.perf_counter()
        child = subprocess.Popen(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out,
                                 stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(child.pid, 0) if timeout is None else wait(child, start + timeout)
        wall_s = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        return Used(wall_s, usage, child.returncode, out.read().decode(errors='replace'))


def wait(child, deadline):
    """wait4 with an end; one kill when the time is over."""
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            return pid, status, usage
        if time.perf_counter() > deadline:
            child.kill()
            return os.wait4(child.pid, 0)
        time.sleep(0.02)


def median(runs, name):
    return statistics.median(getattr(used, name) for used in runs)


def repeat(times, one):
    """Runs `one` so often and gives the list of what it used."""
    return [one() for _ in range(times)]


def seconds(value):
    return f'{value:.0f}' if value >= 100 else f'{value:.2f}' if value >= 0.1 else f'{value:.3f}'


def table(head, rows):
    lines = [head, ['---'] * len(head), *rows]
    return '\n'.join('| ' + ' | '.join(map(str, line)) + ' |' for line in lines)
