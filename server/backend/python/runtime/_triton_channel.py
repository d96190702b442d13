"""Frames between this process and the server. docs/adr/0022-child-processes.md has the table."""

import os
import socket
import struct
import threading

CONTROL, EVENT, MEMORY = 3, 4, 5

# Frames of the server on the control socket.
LOAD, COMPLETE, EXECUTE, FINALIZE, GRANT = 1, 2, 3, 4, 5
# Frames of this process on the control socket.
HELLO, DONE, FAILED, RESULT, NEED = 16, 17, 18, 19, 20
# Frames of this process on the event socket.
LOG, SEND, RELEASE, RESERVE, IS_CANCELLED, CALL, CANCEL_CALL, METRIC, CONTROL_MODEL, READINESS = range(32, 42)
# Frames of the server on the event socket.
BLOCK, ANSWER, RESPONSE, CHECK = 48, 49, 50, 51

HEADER = struct.Struct("<IB3x")
U32, U64 = struct.Struct("<I"), struct.Struct("<Q")
RANGE = struct.Struct("<QQ")
PLACE = struct.Struct("<IQQ")  # block, offset, size


class Cut:
    """The socket of a process that model.py has forked off."""

    def sendall(self, _):
        raise RuntimeError("a process that model.py has forked off cannot talk to the server")


class Channel:
    """Frames over a socket."""

    def __init__(self, fd):
        os.set_inheritable(fd, False)
        self.socket = socket.socket(fileno=fd)
        self.buffer = bytearray(64 << 10)
        self.lock = threading.RLock()  # a destructor may send a frame

    def cut(self):
        """Ends the use of the socket in a process that was forked off."""
        self.socket.close()
        self.socket, self.lock = Cut(), threading.RLock()

    def send(self, kind, body):
        self.socket.sendall(HEADER.pack(len(body), kind) + body)

    def receive(self):
        self.fill(0, HEADER.size)
        size, kind = HEADER.unpack_from(self.buffer)
        if size > len(self.buffer):
            self.buffer = bytearray(size)
        self.fill(0, size)
        return kind, bytes(memoryview(self.buffer)[:size])

    def fill(self, start, end):
        view = memoryview(self.buffer)
        while start < end:
            n = self.socket.recv_into(view[start:end])
            if n == 0:
                os._exit(1)  # the server is gone
            start += n


class Body:
    """Reads the body of a frame."""

    def __init__(self, body):
        self.body, self.at = body, 0

    def unpack(self, s):
        at = self.at
        self.at = at + s.size
        return s.unpack_from(self.body, at)

    def text(self):
        (n,) = U32.unpack_from(self.body, self.at)
        start = self.at + 4
        self.at = start + n
        return self.body[start:self.at].decode("utf-8", "replace")

    def shape(self, rank):
        shape = struct.unpack_from(f"<{rank}q", self.body, self.at)
        self.at += 8 * rank
        return shape


def text(s):
    b = s.encode("utf-8", "replace")
    return U32.pack(len(b)) + b


def numbers(s, values):
    return U32.pack(len(values)) + b"".join(map(s.pack, values))
