"""What the classes of the backend ask of this process and of the server."""

import os
import struct
import sys
import threading

import _triton_channel as wire
from _triton_channel import U32, U64, Body, text
from _triton_memory import Arena, Block, Regions

BLOCK = struct.Struct("<IQQ")  # number, offset in the file, size
TENSOR = struct.Struct("<BB")  # data type, rank
FLAG = struct.Struct("<B")
RELEASE_METRIC = struct.Struct("<IBI")


class Question:
    """A call that waits for the server's answer."""

    __slots__ = ("done", "body")

    def __init__(self):
        self.done = threading.Lock()
        self.done.acquire()
        self.body = None

    def __call__(self, kind, body):
        self.body = body
        self.done.release()

    def wait(self):
        self.done.acquire()
        return self.body


class Host:
    def __init__(self, control):
        self.control = control
        self.events = wire.Channel(wire.EVENT)
        self.regions = Regions()
        self.arena = Arena(self)
        self.executing = False
        self.sends = 0  # responses that were sent on the event socket
        self.released, self.forgotten, self.metrics = [], [], []
        self.lock = threading.RLock()
        self.waiting, self.last, self.reader = {}, 0, None
        os.register_at_fork(after_in_child=self.forked)

    def forked(self):
        """Cuts off a process that model.py has forked off: it has copies of the requests and
        of what gives them back, and would answer in place of this one."""
        self.give_back = lambda: None  # before the arena lets go of its block
        self.log = print_log
        self.control.cut()
        self.events.cut()
        self.lock, self.arena = threading.RLock(), Arena(self)

    # Memory.

    def memory(self, offset, size):
        region = self.regions.find(offset, size)
        return region, region.address + offset - region.base

    def bytes(self, offset, size):
        region = self.regions.find(offset, size)
        return region.mmap[offset - region.base:offset - region.base + size]

    def write(self, offset, size, data):
        region = self.regions.find(offset, size)
        region.mmap[offset - region.base:offset - region.base + size] = data

    def reserve(self, size):
        body = self.ask(wire.RESERVE, U64.pack(size))
        number, offset, size = body.unpack(BLOCK)
        return Block(number, offset, size, self) if number else None

    def release(self, number):
        """Gives back a block. It is called by destructors, in any thread at any place."""
        self.released.append(number)
        if not self.executing:  # otherwise the result of the batch takes it along
            self.give_back()

    def forget(self, request):
        """Reports that nothing can answer a request any more. See release."""
        self.forgotten.append(request)
        if not self.executing:
            self.give_back()

    def release_metric(self, number):
        """Gives back a metric or a family. See release."""
        self.metrics.append(number)
        if not self.executing:
            self.give_back()

    def take_released(self):
        return take(self.released)

    def give_back(self):
        while self.released or self.forgotten or self.metrics:
            if not self.events.lock.acquire(blocking=False):
                return  # the thread that has the lock looks again when it has released it
            try:
                blocks, requests = take(self.released), take(self.forgotten)
                if blocks or requests:
                    self.events.send(wire.RELEASE, wire.numbers(U32, blocks) + wire.numbers(U64, requests))
                for number in take(self.metrics):
                    self.events.send(wire.METRIC, RELEASE_METRIC.pack(0, 6, number))
            finally:
                self.events.lock.release()

    # Frames.

    def post(self, kind, body):
        with self.events.lock:
            if kind == wire.SEND:
                self.sends = self.sends + 1 & 0xFFFFFFFF
            self.events.send(kind, body)
        self.give_back()

    def open(self, handler):
        """Returns a number for frames of the server, which handler gets."""
        with self.lock:
            if self.reader is None:
                self.reader = threading.Thread(target=self.read, name="triton-events", daemon=True)
                self.reader.start()
            self.last = self.last + 1 & 0xFFFFFFFF
            while self.last in self.waiting:
                self.last = self.last + 1 & 0xFFFFFFFF
            self.waiting[self.last] = handler
            return self.last

    def close(self, number):
        self.waiting.pop(number, None)

    def ask(self, kind, body):
        """Asks the server and returns the body of the answer."""
        question = Question()
        number = self.open(question)
        self.post(kind, U32.pack(number) + body)
        answer = question.wait()
        self.close(number)
        return answer

    def question(self, kind, body):
        """Asks for a text. An error of the server is raised as RuntimeError."""
        answer = self.ask(kind, body)
        failed = answer.unpack(FLAG)[0]
        result = answer.text()
        if failed:
            raise RuntimeError(result)
        return result

    def read(self):
        while True:
            kind, body = self.events.receive()
            body = Body(body)
            handler = self.waiting.get(body.unpack(U32)[0])
            if handler is not None:
                handler(kind, body)
            handler = body = None

    def cancelled(self, request):
        return self.question(wire.IS_CANCELLED, U64.pack(request)) != ""

    def log(self, level, file, line, message):
        self.post(wire.LOG, bytes([level & 3]) + U32.pack(line) + text(os.path.basename(file)) + text(message))

    # Tensors.

    def store(self, items, size):
        """Writes tensors to memory and returns their frames and what keeps the memory."""
        if size == 0:
            return encode(items, 0, 0), None
        block, offset = self.arena.place(size)
        if block is None:
            raise MemoryError(f"the server has no memory for {size} bytes of tensors")
        self.fill(items, block.base + offset)
        return encode(items, block.number, offset), block

    def fill(self, items, base):
        for _, payload, n, offset in items:
            if n and payload is not None:
                self.write(base + offset, n, payload)


def print_log(level, file, line, message):
    """Logs where the server reads what its processes print."""
    print(f"{os.path.basename(file)}:{line}] {message}", file=sys.stderr, flush=True)


def take(values):
    taken = []
    while values:
        taken.append(values.pop())
    return taken


def measure(tensors):
    """Lists tensors with what is to be written, and returns how many bytes they need."""
    items, size = [], 0
    for t in tensors:
        if t._array is None and t._data is None and t._block is not None:
            items.append((t, None, t._at[1], t._at[0] - t._block.base))  # it is where the server can read it
            continue
        payload = t._payload()
        n = payload.nbytes if hasattr(payload, "nbytes") else len(payload)
        items.append((t, payload, n, size))
        size += n + 63 & -64
    return items, size


def encode(items, block, base):
    parts = [U32.pack(len(items))]
    for t, payload, n, offset in items:
        rank = len(t._shape)
        parts.append(text(t._name) + TENSOR.pack(t._dtype, rank) + struct.pack(f"<{rank}q", *t._shape))
        parts.append(wire.PLACE.pack(t._block.number, offset, n) if payload is None and n
                     else wire.PLACE.pack(block, base + offset, n))
    return b"".join(parts)
