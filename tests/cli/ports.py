"""A port that nobody uses yet, for servers that cannot choose one themselves. Until this process ends no other process of the tests gets it."""
import fcntl
import os
import random
import socket
import tempfile

# Below Linux's range for outgoing connections (ip_local_port_range), which tests beside this one open all the time.
FIRST, LAST = 12000, 32000
TAKEN = os.path.join(tempfile.gettempdir(), f'raygpu-ports-{os.getuid()}')  # a file for each port, locked by the process that has it
_mine = []


def free_port():
    os.makedirs(TAKEN, mode=0o700, exist_ok=True)
    while True:
        port = random.SystemRandom().randrange(FIRST, LAST)
        mark = open(os.path.join(TAKEN, str(port)), 'w', encoding='ascii')
        try:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as one:
                one.bind(('127.0.0.1', port))
        except OSError:
            mark.close()
            continue
        _mine.append(mark)
        return port
