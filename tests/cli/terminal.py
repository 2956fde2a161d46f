"""raygpu on its own terminal, as a person runs it."""
import os
import pty
import select
import subprocess
import time

from program import binary


class Terminal:
    """raygpu with a terminal of 80 columns on all three ends."""

    def __init__(self, home, *arguments):
        self.seen = b''
        master, slave = pty.openpty()
        self.master = master
        env = {**home.env, 'TERM': 'xterm'}
        self.process = subprocess.Popen([binary(), *arguments], cwd=home.folder, env=env, stdin=slave,
                                        stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)

    def read_until(self, word, seconds=60):
        deadline = time.monotonic() + seconds
        while word not in self.seen and time.monotonic() < deadline:
            if select.select([self.master], [], [], 0.2)[0]:
                try:
                    self.seen += os.read(self.master, 65536)
                except OSError:  # the other end is closed
                    break
        assert word in self.seen, self.seen.decode()

    def finish(self):
        code = self.process.wait(timeout=60)
        os.close(self.master)
        return code
