"""A port that nobody uses yet, for servers that cannot choose one themselves."""
import random
import socket

# Below Linux's range for outgoing connections (ip_local_port_range), which tests beside this one open all the time.
FIRST, LAST = 12000, 32000


def free_port():
    while True:
        port = random.SystemRandom().randrange(FIRST, LAST)
        with socket.socket() as one:
            try:
                one.bind(('127.0.0.1', port))
            except OSError:
                continue
            return port
