"""Runs programs and reports what they used: wall and processor time, peak memory; medians and Markdown tables."""
import os
import signal
import statistics
import subprocess
import sys
import threading


# Starts argv and reports what it used. A separate, small process: the kernel reports a program's peak memory as
# at least that of the process that started it (9 MiB here).
LAUNCH = '''
import os, sys, time
told = int(sys.argv[1])
os.set_inheritable(told, False)
start = time.perf_counter()
pid = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
wall = time.perf_counter() - start
cpu = usage.ru_utime + usage.ru_stime
os.write(told, b'%f %f %d %d' % (wall, cpu, usage.ru_maxrss, os.waitstatus_to_exitcode(status)))
'''


class Used:
    """The resources of one run of a program. cpu: user and system, including its children's; rss: peak of the
    largest process."""

    def __init__(self, figures, out):
        self.wall_s, self.cpu_s = float(figures[0]), float(figures[1])
        self.rss_mib = int(figures[2]) / 1024
        self.code = int(figures[3])
        self.out = out


def run(argv, cwd=None, env=None, timeout=600):
    """Runs argv to its end; its output goes to a file, so that reading it costs no time. After `timeout` seconds it
    is killed with all processes that it started."""
    reading, writing = os.pipe()
    with open(os.path.join(cwd or '.', '.bench-out'), 'w+b') as out, os.fdopen(reading) as figures:
        launcher = subprocess.Popen([sys.executable, '-I', '-S', '-c', LAUNCH, str(writing), *argv], cwd=cwd, env=env,
                                    stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                    pass_fds=[writing], start_new_session=True)
        os.close(writing)
        watch = threading.Timer(timeout, os.killpg, [launcher.pid, signal.SIGKILL])
        watch.start()
        told = figures.read().split()
        launcher.wait()
        watch.cancel()
        out.seek(0)
        printed = out.read().decode(errors='replace')
    if not told:
        raise RuntimeError(f'{argv} did not end within {timeout} s:\n{printed[-2000:]}')
    used = Used(told, printed)
    print(f'{used.wall_s:8.2f} s, exit code {used.code}: {" ".join(argv)[-100:]}', file=sys.stderr, flush=True)
    return used


def taking_turns(argv):
    """argv in turns with others of its priority if we are real-time: otherwise Go's spinning threads let no server
    run."""
    if os.sched_getscheduler(0) != os.SCHED_FIFO:
        return argv
    return ['chrt', '-r', str(os.sched_getparam(0).sched_priority), *argv]


def median(runs, name):
    return statistics.median(getattr(used, name) for used in runs)


def seconds(value):
    return f'{value:.0f}' if value >= 100 else f'{value:.2f}' if value >= 0.1 else f'{value:.3f}'


def table(head, rows):
    lines = [head, ['---'] * len(head), *rows]
    return '\n'.join('| ' + ' | '.join(map(str, line)) + ' |' for line in lines)
