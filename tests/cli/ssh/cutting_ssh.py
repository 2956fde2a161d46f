#!/usr/bin/env python3
"""ssh, for tests: at the call number $AT of those that run the function $WHICH on a host (empty: of all calls), $HOW says what fails:

    before, after    raygpu is killed before or after the call
    half, lost       the connection is cut: half of what is sent arrives, or no answer comes back
    off              the host has no power any more
    step:N           it loses power in mid-call, before bash runs the command number N of the function

$CUT is a folder: `calls` has a byte for each call, `done` says what was done. $POWER: the first process of each host, by name, as JSON."""
import json
import os
import signal
import subprocess
import sys

FOLDER, WHICH, AT, HOW = (os.environ[name] for name in ('CUT', 'WHICH', 'AT', 'HOW'))
SSH = ['/usr/bin/ssh', *sys.argv[1:]]
# each function and subshell counts from where it begins; if there is no such command, the call ends as it does
STEPS = rb"""
cut_steps=0
cut_here() { ((++cut_steps != %d)) || { echo "cut before: $BASH_COMMAND" >/proc/$$/fd/2; sleep 1000; }; }
set -T
trap cut_here DEBUG
"""


def number_of_this_call():
    calls = os.open(f'{FOLDER}/calls', os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(calls, b'.')
    return os.lseek(calls, 0, os.SEEK_CUR)


def end_255(why):
    sys.stderr.write(f'{why}\n')
    sys.exit(255)


def cut_power(host):
    """ssh says so after a minute."""
    os.kill(int(json.loads(os.environ['POWER'])[host]), signal.SIGKILL)
    end_255('Timeout, server not responding.')


def cut_in_mid_call(host, text, step):
    body, function, end = text.rstrip().rsplit(b'\n', 2)
    with subprocess.Popen(SSH, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(b'\n'.join([body, STEPS % step, function, end, b'']))
        process.stdin.close()
        for line in process.stderr:
            if line.startswith(b'cut before: '):
                note(line.decode().strip())
                process.kill()
                cut_power(host)
        sys.stdout.buffer.write(process.stdout.read())
    sys.exit(process.returncode)


def note(what):
    with open(f'{FOLDER}/done', 'w', encoding='utf-8') as f:
        f.write(what)


def fail(host, text):
    if HOW.startswith('step:'):
        cut_in_mid_call(host, text, int(HOW[5:]))
    note(HOW)
    if HOW == 'off':
        cut_power(host)
    if HOW == 'before':
        os.kill(os.getppid(), signal.SIGKILL)
        sys.exit(255)
    subprocess.run(SSH, input=text[:len(text) // 2] if HOW == 'half' else text, stdout=subprocess.DEVNULL, check=False)
    if HOW == 'after':
        os.kill(os.getppid(), signal.SIGKILL)
    end_255('client_loop: send disconnect: Broken pipe')


def main():
    text = sys.stdin.buffer.read()
    function = text.rstrip().splitlines()[-2].decode()
    if WHICH in ('', function) and number_of_this_call() == int(AT):
        fail(sys.argv[-2], text)
    sys.exit(subprocess.run(SSH, input=text, check=False).returncode)


if __name__ == '__main__':
    main()
