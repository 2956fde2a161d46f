"""Stands in for Session Manager: a port of this machine leads to one of a host. As `aws`: the arguments of `ssm start-session`, and in
$HEAD the process whose network is the host's."""
import os
import re
import socket
import sys
import threading


def pump(a, b):
    try:
        while data := a.recv(65536):
            b.sendall(data)
        b.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def serve(listener, port):
    while True:
        client, _ = listener.accept()
        server = socket.create_connection(('127.0.0.1', port))
        for pair in ((client, server), (server, client)):
            threading.Thread(target=pump, args=pair, daemon=True).start()


def main():
    if sys.argv[1] == 'serve':
        return serve(socket.socket(fileno=int(sys.argv[2])), int(sys.argv[3]))
    remote, local = re.search(r'portNumber=(\d+),localPortNumber=(\d+)', ' '.join(sys.argv)).groups()
    listener = socket.create_server(('127.0.0.1', int(local)))
    listener.set_inheritable(True)
    return os.execvp('nsenter', ['nsenter', '--target', os.environ['HEAD'], '--net', sys.executable, __file__, 'serve', str(listener.fileno()), remote])


if __name__ == '__main__':
    main()
