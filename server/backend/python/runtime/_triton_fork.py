"""Processes that model.py forks off. They call other models through this process, which relays the frames."""

import fcntl
import os
import queue
import signal
import socket
import threading

import _triton_base as _base
import _triton_channel as wire
from _triton_call import decode
from _triton_channel import HEADER, U32, Body
from _triton_host import BLOCK, Host
from _triton_memory import Block

QUESTIONS = {wire.RESERVE, wire.IS_CANCELLED, wire.CALL, wire.METRIC, wire.CONTROL_MODEL}
ANSWERS = {wire.SEND, wire.READINESS}  # only the process of the instance gives them

_forking = threading.local()  # of the process that this thread forks off: its sockets (ends) and its signal mask
_relays = set()  # one for each process that lives
_life = []  # the ends of a pipe; in a process that was forked off the first one, which is open as long as it lives


class Link:
    """Frames between a process and one that it has forked off."""

    def __init__(self, end):
        self.socket = end
        self.lock = threading.RLock()  # a destructor may send a frame

    def cut(self):
        self.socket.close()

    def send(self, kind, body):
        self.socket.sendall(HEADER.pack(len(body), kind) + body)

    def receive(self):
        """Returns the type of the next frame and the frame; EOFError when the other process has ended."""
        frame = bytearray(HEADER.size)
        self.fill(frame, 0)
        size, kind = HEADER.unpack(frame)
        frame += bytes(size)
        self.fill(frame, HEADER.size)
        return kind, frame

    def fill(self, frame, at):
        while at < len(frame):
            with memoryview(frame) as view:
                n = self.socket.recv_into(view[at:])
            if n == 0:
                raise EOFError
            at += n


def watch():
    os.register_at_fork(before=before, after_in_parent=in_parent, after_in_child=in_child)
    end_together()


def end_together():
    """Lets the system kill the processes that were forked off when this one is killed, perhaps with the server: nobody
    else would end one that waits for nothing of it. The writing end of a pipe closes then, which is a signal for the
    group of processes as long as one of them has the reading end. The death signal of prctl would come when the thread
    ends that has forked."""
    if os.getpgrp() != os.getpid():
        return
    try:
        _life[:] = os.pipe()
        fcntl.fcntl(_life[0], fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(_life[0], fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(_life[0], fcntl.F_SETFL, fcntl.fcntl(_life[0], fcntl.F_GETFL) | os.O_ASYNC)
    except (AttributeError, OSError):  # AttributeError: not Linux
        pass


def before():
    # A signal that comes before in_child has set what it does waits until then.
    _forking.mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM,))
    try:
        _forking.ends = socket.socketpair()
    except OSError:
        _forking.ends = None


def in_parent():
    signal.pthread_sigmask(signal.SIG_SETMASK, _forking.mask)
    if _forking.ends:
        ours, theirs = _forking.ends
        theirs.close()
        Relay(Link(ours))


def in_child():
    for alive in _life[1:]:
        os.close(alive)
    del _life[1:]
    if signal.getsignal(signal.SIGTERM) is _base.ignore:  # multiprocessing ends its processes with it
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, _forking.mask)
    _base.host.cut()  # before the end of the relays, whose blocks would be given back
    for relay in _relays:
        relay.link.cut()
    _relays.clear()
    if _forking.ends:
        ours, theirs = _forking.ends
        ours.close()
    else:
        theirs = socket.socket()
        theirs.close()
    _base.host = Forked(_base.host.control, Link(theirs))


class Forked(Host):
    """The host of a process that was forked off."""

    def cut(self):
        self.give_back = lambda: None
        self.events.cut()

    def post(self, kind, body):
        if kind in ANSWERS:
            raise RuntimeError("a process that model.py has forked off cannot answer requests")
        super().post(kind, body)

    def forget(self, request):
        """The process of the instance answers it."""

    def release_metric(self, number):
        """The process of the instance has it too; it ends with the instance."""


class Relay:
    """Passes frames between the server and a process that was forked off."""

    def __init__(self, link):
        self.host, self.link = _base.host, link
        self.lock = threading.Lock()
        self.calls = {}  # numbers of questions of the process: those that the server knows
        self.blocks = {}  # memory that the process uses, by number
        self.answers = queue.SimpleQueue()
        self.ended = False
        _relays.add(self)
        for run in (self.receive, self.send):
            threading.Thread(target=run, name="triton-fork", daemon=True).start()

    def receive(self):
        """Passes the frames of the process on until it ends."""
        try:
            while True:
                self.ask(*self.link.receive())
        except (EOFError, OSError):
            pass
        finally:
            with self.lock:
                self.ended = True
                calls, self.blocks = list(self.calls.values()), {}
            self.answers.put(None)
        for number in calls:
            self.host.post(wire.CANCEL_CALL, U32.pack(number))

    def ask(self, kind, frame):
        body = Body(frame)
        if kind == wire.LOG:
            self.host.post(kind, frame[HEADER.size:])
        elif kind == wire.RELEASE:
            for _ in range(body.unpack(U32)[0]):
                self.blocks.pop(body.unpack(U32)[0], None)
        elif kind in QUESTIONS or kind == wire.CANCEL_CALL:
            number, = body.unpack(U32)
            known = self.calls.get(number)
            if kind != wire.CANCEL_CALL:
                known = self.calls[number] = self.host.open(lambda kind, body: self.answer(number, kind, body))
            if known is not None:
                self.host.post(kind, U32.pack(known) + frame[body.at:])

    def answer(self, number, kind, body):
        """Queues an answer of the server; the thread that reads frames must not wait for the process."""
        frame, final, blocks = body.body, True, []
        rest = frame[body.at:]
        if kind == wire.RESPONSE:
            response = decode(body)
            final, blocks = response._final, [t._block for t in response._outputs if type(t._block) is Block]
        elif kind == wire.BLOCK:
            blocks = [Block(*body.unpack(BLOCK), self.host)]
        with self.lock:
            if final:
                self.host.close(self.calls.pop(number))
            if not self.ended:  # otherwise the end of the blocks gives them back
                self.blocks.update((b.number, b) for b in blocks)
                self.answers.put((kind, U32.pack(number) + rest))

    def send(self):
        """Sends the answers until the process has ended."""
        try:
            for kind, body in iter(self.answers.get, None):
                self.link.send(kind, body)
        except OSError:
            for _ in iter(self.answers.get, None):  # until receive has seen the end too
                pass
        _relays.discard(self)
        self.link.cut()
