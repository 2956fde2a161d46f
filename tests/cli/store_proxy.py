"""Between raygpu and the server of a store on loopback: it delays, cuts answers off, and kills raygpu at the n-th write.

    proxy = Proxy(server.port)
    proxy.delay_s = 0.02                          # the round trip of a distant store
    proxy.cut = 6                                 # so many answers to writes never arrive
    for killed in proxy.kills(begin, lambda: home.start('apply', ...)):
        ...                                       # after each kill; the last round is not killed"""
import contextlib
import queue
import socket
import threading
import time

# PostgreSQL's: what a transaction that writes begins with, and how a request ends however many pieces it arrives in.
WRITES = (b'SELECT 1 / count', b'INSERT', b'UPDATE', b'DELETE', b'CREATE')
END = b'S\0\0\0\4'
# How the requests of object stores and of Terraform's HTTP protocol that write begin; curl sends one after the other.
HTTP_WRITES = (b'PUT ', b'POST ', b'PATCH ', b'DELETE ', b'LOCK ', b'UNLOCK ')


class Line:
    """A connection: whether the answer to a write is awaited, and whether the last request is complete."""

    def __init__(self, writes):
        self.wrote = threading.Event()
        self.writes, self.whole = writes, True

    def begins_write(self, data):
        if self.writes is HTTP_WRITES:
            return data.startswith(HTTP_WRITES)
        begins, self.whole = self.whole, data.endswith(END)
        return begins and any(word in data for word in self.writes)


class Proxy:
    def __init__(self, port, writes=WRITES):
        self.port, self.writes = port, writes
        self.delay_s = self.cut = self.cuts = self.sent = self.received = 0
        self.reads = 0  # requests of HTTP that do not write
        self.at = None  # (n, after): kill before the n-th write is forwarded, or when its answer is there
        self.count = 0
        self.hit = False
        self.victim = None
        self.started = threading.Event()
        self.lock = threading.Lock()
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.own = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self.listener.close()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            for end in (client, server := socket.create_connection(('127.0.0.1', self.port))):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            line = Line(self.writes)
            threading.Thread(target=self.pump, args=(client, server, line, self.question), daemon=True).start()
            threading.Thread(target=self.pump, args=(server, client, line, self.answer), daemon=True).start()

    def kill(self):
        self.started.wait()
        self.victim.kill()
        self.victim.wait()
        self.hit = True

    def question(self, data, line):
        """False: it does not arrive."""
        with self.lock:
            self.sent += len(data)
            self.reads += data.startswith(b'GET ')
            if not line.begins_write(data):
                return True
            line.wrote.set()
            self.count += 1
            if self.at == (self.count, False):
                self.kill()
                return False
        return True

    def answer(self, data, line):
        with self.lock:
            self.received += len(data)
            if not line.wrote.is_set():
                return True
            line.wrote.clear()
            if self.at and self.at[1] and self.count >= self.at[0] and not self.hit:
                self.kill()
                return False
            if self.cut:
                self.cut -= 1
                self.cuts += 1
                return False
        return True

    def deliver(self, sink, under_way):
        """Pieces do not delay each other."""
        with contextlib.suppress(OSError):
            while (item := under_way.get()) is not None:
                due, data = item
                time.sleep(max(0, due - time.monotonic()))
                sink.sendall(data)

    def pump(self, source, sink, line, take):
        under_way = queue.SimpleQueue()
        carrier = threading.Thread(target=self.deliver, args=(sink, under_way), daemon=True)
        carrier.start()
        with contextlib.suppress(OSError):
            while (data := source.recv(1 << 16)) and take(data, line):
                under_way.put((time.monotonic() + (self.delay_s if take == self.answer else 0), data))
        under_way.put(None)
        carrier.join()
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def kills(self, begin, start, points=None):
        """`start` begins the same command each time, after `begin`: killed before its first write, after that, before its
        second ..., or only at the `points` (n, after). True after each kill, False when it ended before."""
        every = ((n, after) for n in range(1, 1000) for after in (False, True))
        for at in points or every:
            begin()
            self.started.clear()
            self.count, self.hit, self.at = 0, False, at
            self.victim = start()
            self.started.set()
            self.victim.communicate()
            self.at = None
            yield self.hit
            if not self.hit:
                return
