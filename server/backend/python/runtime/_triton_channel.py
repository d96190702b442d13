"""Frames between this process and the server. docs/adr/0022-child-processes.md has the table."""

import io
import os
import struct
import threading

CONTROL, EVENT, MEMORY = 3, 5, 7  # of a channel: what this process reads; the next one is what it writes

# Frames of the server on the control channel.
LOAD, COMPLETE, EXECUTE, FINALIZE, GRANT = 1, 2, 3, 4, 5
# Frames of this process on the control channel.
HELLO, DONE, FAILED, RESULT, NEED = 16, 17, 18, 19, 20
# Frames of this process on the event channel.
LOG, SEND, RELEASE, RESERVE, IS_CANCELLED, CALL, CANCEL_CALL, METRIC, CONTROL_MODEL, READINESS = range(32, 42)
# Frames of the server on the event channel.
BLOCK, ANSWER, RESPONSE, CHECK = 48, 49, 50, 51

HEADER = struct.Struct("<IB3x")
U32, U64 = struct.Struct("<I"), struct.Struct("<Q")
RANGE = struct.Struct("<QQ")  # offset, size
TENSOR = struct.Struct("<BB")  # data type, rank
PLACE = struct.Struct("<IQQ")  # block, offset, size
INLINE = 0xFFFFFFFF  # the block of a tensor whose bytes are in the frame
SMALL = 4 << 10  # bytes of the largest tensor in a frame


class Cut:
    """The channel of a process that model.py has forked off."""

    def write(self, _):
        raise RuntimeError("a process that model.py has forked off cannot talk to the server")


class Channel:
    """Frames over a pipe in each direction."""

    SIZE, KEEP = 64 << 10, 1 << 20  # bytes of the buffer, and of the largest one that is kept

    def __init__(self, fd):
        for end in fd, fd + 1:
            os.set_inheritable(end, False)
        self.ends = fd, fd + 1
        self.input, self.output = io.FileIO(fd, closefd=False), io.FileIO(fd + 1, "w", closefd=False)
        self.buffer, self.have = memoryview(bytearray(self.SIZE)), 0
        self.lock = threading.RLock()  # a destructor may send a frame

    def cut(self):
        """Ends the use of the channel in a process that was forked off."""
        for end in self.ends:
            os.close(end)
        self.output, self.lock = Cut(), threading.RLock()

    def send(self, kind, body):
        frame = HEADER.pack(len(body), kind) + body
        n = self.output.write(frame)
        while n < len(frame):  # a signal came
            n += self.output.write(frame[n:])

    def receive(self):
        """Returns the type of the next frame and the frame, whose body begins at index 8."""
        if self.have < HEADER.size:
            self.fill(HEADER.size)
        size, kind = HEADER.unpack_from(self.buffer)
        size += HEADER.size
        if self.have < size:
            self.fill(size)
        frame = bytearray(self.buffer[:size])
        rest = self.have - size
        if rest:
            self.buffer[:rest] = self.buffer[size:self.have]
        elif len(self.buffer) > self.KEEP:
            self.buffer = memoryview(bytearray(self.SIZE))
        self.have = rest
        return kind, frame

    def fill(self, end):
        """Receives until the buffer has so many bytes, or more of them."""
        if end > len(self.buffer):
            larger = memoryview(bytearray(end))
            larger[:self.have] = self.buffer[:self.have]
            self.buffer = larger
        while self.have < end:
            n = self.input.readinto(self.buffer[self.have:] if self.have else self.buffer)
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
        return self.body[start:self.at].decode("utf-8", "replace") if n else ""

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
