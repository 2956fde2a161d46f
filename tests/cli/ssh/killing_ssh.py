#!/usr/bin/env python3
"""ssh, for tests: at the first call that runs the function $WHICH on a host, kills raygpu before or after it, or loses the answer ($HOW).
The file $ONCE is there from then on."""
import os
import signal
import subprocess
import sys

text = sys.stdin.buffer.read()
which, how, once = (os.environ[name] for name in ('WHICH', 'HOW', 'ONCE'))
meant = text.rstrip().splitlines()[-2].decode() == which
try:
    meant = meant and bool(os.open(once, os.O_CREAT | os.O_EXCL))
except FileExistsError:
    meant = False
if meant and how == 'before':
    os.kill(os.getppid(), signal.SIGKILL)
    sys.exit(255)
done = subprocess.run(['/usr/bin/ssh', *sys.argv[1:]], input=text, capture_output=True, check=False)
if meant and how == 'after':
    os.kill(os.getppid(), signal.SIGKILL)
if meant and how == 'lost':
    sys.stderr.write('client_loop: send disconnect: Broken pipe\n')
    sys.exit(255)
sys.stdout.buffer.write(done.stdout)
sys.stderr.buffer.write(done.stderr)
sys.exit(done.returncode)
