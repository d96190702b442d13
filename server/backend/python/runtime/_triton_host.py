"""What the classes of the backend ask of this process and of the server."""

import os
import struct
import threading
from _thread import allocate_lock

import _triton_channel as wire
import _triton_metric as metric
from _triton_channel import PLACE, U32, U64, Body, text
from _triton_memory import Arena, Block, Regions, aligned

BLOCK = struct.Struct("<IQQ")  # number, offset in the file, size
FLAG = struct.Struct("<B")
RELEASE_METRIC = struct.Struct("<IBI")  # no question, operation, number


class Question:
    """A call that waits for the server's answer."""

    __slots__ = ("body",)

    def __init__(self):
        self.body = None

    def __call__(self, kind, body):
        self.body = body

    def arrived(self):
        return self.body is not None


class Reader:
    """Waits for nothing, so its thread reads all frames."""

    def arrived(self):
        return False


class Host:
    def __init__(self, control, events=None):
        self.control = control
        self.events = events or wire.Channel(wire.EVENT)
        self.regions = Regions()
        self.arena = Arena(self)
        self.executing = False
        self.sends = 0  # responses that were sent on the event channel
        self.released, self.forgotten, self.metrics = [], [], []
        self.lock = threading.RLock()
        self.waiting, self.last, self.reader = {}, 0, None
        self.leading, self.followers = False, []  # of wait

    def cut(self):
        """Cuts off a process that model.py has forked off: it has copies of the requests and
        of what gives them back, and would answer in place of this one."""
        self.give_back = lambda: None
        self.control.cut()
        self.events.cut()

    # Memory.

    def bytes(self, offset, size):
        """Returns a copy of memory that the server shares."""
        region = self.regions.find(offset, size)
        return region.mmap[offset - region.base:offset - region.base + size]

    def copy(self, to, offset, size):
        """Copies memory that the server shares to another place in it."""
        region = self.regions.find(offset, size)
        with memoryview(region.mmap) as view:
            self.write(to, size, view[offset - region.base:offset - region.base + size])

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
                    self.events.send(wire.METRIC, RELEASE_METRIC.pack(0, metric.RELEASE, number))
            finally:
                self.events.lock.release()

    # Frames.

    def post(self, kind, body):
        with self.events.lock:
            if kind == wire.SEND:
                self.sends = self.sends + 1 & 0xFFFFFFFF
            self.events.send(kind, body)
        self.give_back()

    def open(self, handler, waits=False):
        """Returns a number for frames of the server, which handler gets: while its thread waits for it, or from a
        thread that reads all frames."""
        with self.lock:
            if self.reader is None and not waits:
                self.reader = threading.Thread(target=self.wait, args=(Reader(),), name="triton-events", daemon=True)
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
        number = self.open(question, waits=True)
        self.post(kind, U32.pack(number) + body)
        self.wait(question)
        self.close(number)
        return question.body

    def question(self, kind, body):
        """Asks for a text. An error of the server is raised as RuntimeError."""
        answer = self.ask(kind, body)
        failed = answer.unpack(FLAG)[0]
        result = answer.text()
        if failed:
            raise RuntimeError(result)
        return result

    def wait(self, handler):
        """Returns when a handler has what it waits for. One of the threads that wait reads the frames of all of them,
        so a call that is alone needs no other thread."""
        while True:
            with self.lock:
                if handler.arrived():
                    self.follow()
                    return
                lead, self.leading = not self.leading, True
                if not lead:
                    wake = allocate_lock()
                    wake.acquire()
                    self.followers.append((handler, wake))
            if not lead:
                wake.acquire()
                continue
            try:
                while not handler.arrived():
                    self.read()
                return
            finally:
                with self.lock:
                    self.leading = False
                    self.follow()

    def follow(self):
        """Wakes a thread to read frames, if none does. The caller has the lock."""
        if not self.leading and self.followers:
            self.followers.pop()[1].release()

    def read(self):
        """Receives a frame and gives it to its handler."""
        kind, frame = self.events.receive()
        body = Body(frame)
        handler = self.waiting.get(body.unpack(U32)[0])
        if handler is None:
            return
        handler(kind, body)
        with self.lock:
            for follower in self.followers:
                if follower[0] is handler:
                    self.followers.remove(follower)
                    follower[1].release()
                    break

    def cancelled(self, request):
        return self.question(wire.IS_CANCELLED, U64.pack(request)) != ""

    def log(self, level, file, line, message):
        self.post(wire.LOG, bytes([level & 3]) + U32.pack(line) + text(os.path.basename(file)) + text(message))

    # Tensors.

    def store(self, tensors):
        """Returns the parts of a frame with tensors, and what keeps their memory."""
        parts, large = [U32.pack(len(tensors))], []
        for t in tensors:
            t._encode(parts, large)
        block, size = None, 0
        for item in large:
            index, n, payload, origin, at = item
            if payload is None:  # it is where the server can read it
                parts[index] = PLACE.pack(origin.number, at - origin.base, n)
            else:
                item[4] = size
                size += aligned(n)
        if size:
            block, offset = self.arena.place(size)
            if block is None:
                raise MemoryError(f"the server has no memory for {size} bytes of tensors")
            for index, n, payload, _, at in large:
                if payload is not None:
                    self.write(block.base + offset + at, n, payload)
                    parts[index] = PLACE.pack(block.number, offset + at, n)
        return parts, (block, large)


def take(values):
    taken = []
    while values:
        taken.append(values.pop())
    return taken
