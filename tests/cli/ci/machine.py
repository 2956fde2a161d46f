"""A machine of its own for a CI job: network, mounts and host name are namespaces, its files are below /mnt/job, and other
machines' files are hidden. Its 127.0.0.1 has only the services that are relayed. Needs root.

    machine.py NAME FOLDER HIDDEN PORT...     prints "ready"; runs until standard input ends

FOLDER becomes /mnt/job; nothing is visible below HIDDEN. A step enters with nsenter and has the same process id inside and outside."""
import asyncio
import ctypes
import socket
import subprocess
import sys
import threading

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWNET = 0x00020000, 0x04000000, 0x40000000
libc = ctypes.CDLL(None, use_errno=True)


async def pipe(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


def relay(port):
    async def serve(reader, writer):
        try:
            there, back = await asyncio.open_connection('127.0.0.1', port)
            await asyncio.gather(pipe(reader, back), pipe(there, writer))
        except OSError:
            writer.close()  # as for a service that is down
    return serve


def main(name, folder, hidden, *ports):
    loop = asyncio.new_event_loop()
    # Stays in the outer network: namespaces belong to threads.
    threading.Thread(target=loop.run_forever, daemon=True).start()
    if libc.unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), 'unshare')
    socket.sethostname(name)
    for command in (['mount', '--make-rprivate', '/'], ['mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], ['mkdir', '/mnt/job'],
                    ['mount', '--bind', folder, '/mnt/job'], ['mount', '-t', 'tmpfs', 'tmpfs', hidden], ['ip', 'link', 'set', 'lo', 'up']):
        subprocess.run(command, check=True)
    for port in map(int, ports):
        listener = socket.create_server(('127.0.0.1', port))
        asyncio.run_coroutine_threadsafe(asyncio.start_server(relay(port), sock=listener), loop).result()
    print('ready', flush=True)
    sys.stdin.read()


if __name__ == '__main__':
    main(*sys.argv[1:])
