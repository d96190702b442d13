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
RANGE = struct.Struct("<QQ")  # offset, size
TENSOR = struct.Struct("<BB")  # data type, rank
PLACE = struct.Struct("<IQQ")  # block, offset, size
INLINE = 0xFFFFFFFF  # the block of a tensor whose bytes are in the frame
SMALL = 4 << 10  # bytes of the largest tensor in a frame


class Cut:
    """The socket of a process that model.py has forked off."""

    def sendall(self, _):
        raise RuntimeError("a process that model.py has forked off cannot talk to the server")


class Channel:
    """Frames over a socket."""

    SIZE, KEEP = 64 << 10, 1 << 20  # bytes of the buffer, and of the largest one that is kept

    def __init__(self, fd):
        os.set_inheritable(fd, False)
        self.socket = socket.socket(fileno=fd)
        self.buffer, self.have = bytearray(self.SIZE), 0
        self.lock = threading.RLock()  # a destructor may send a frame

    def cut(self):
        """Ends the use of the socket in a process that was forked off."""
        self.socket.close()
        self.socket, self.lock = Cut(), threading.RLock()

    def send(self, kind, body):
        self.socket.sendall(HEADER.pack(len(body), kind) + body)

    def receive(self):
        """Returns the type of the next frame and the frame, whose body begins at index 8."""
        if self.have < HEADER.size:
            self.fill(HEADER.size)
        size, kind = HEADER.unpack_from(self.buffer)
        size += HEADER.size
        if self.have < size:
            self.fill(size)
        frame = self.buffer[:size]
        rest = self.have - size
        if rest:
            self.buffer[:rest] = self.buffer[size:self.have]
        elif len(self.buffer) > self.KEEP:
            self.buffer = bytearray(self.SIZE)
        self.have = rest
        return kind, frame

    def fill(self, end):
        """Receives until the buffer has so many bytes, or more of them."""
        if end > len(self.buffer):
            self.buffer += bytes(end - len(self.buffer))
        while self.have < end:
            with memoryview(self.buffer) as view:
                n = self.socket.recv_into(view[self.have:])
            if n == 0:
                os._exit(1)  # the server has ended
            self.have += n


EMPTY = bytes(4)


class Body:
    """Reads the body of a frame."""

    __slots__ = ("body", "at")

    def __init__(self, frame):
        self.body, self.at = frame, HEADER.size

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
    if not s:
        return EMPTY
    b = s.encode("utf-8", "replace")
    return U32.pack(len(b)) + b


def numbers(s, values):
    return U32.pack(len(values)) + b"".join(map(s.pack, values))
