"""The program of a child process that runs one instance of a Python model.

It answers the frames of the server on descriptor 3, sends log records on descriptor 4
and finds tensors in the memory file with descriptor 5. The frames are in
docs/adr/0022-child-processes.md.
"""

import collections
import ctypes
import inspect
import json
import mmap
import os
import signal
import socket
import struct
import sys
import threading

CONTROL, REPORT, MEMORY = 3, 4, 5

# Frames of the server.
LOAD, COMPLETE, EXECUTE, FINALIZE, GRANT, CANCELLED = 1, 2, 3, 4, 5, 6
# Frames of the child.
HELLO, DONE, FAILED, RESULT, NEED, IS_CANCELLED, LOG = 16, 17, 18, 19, 20, 21, 32

HEADER = struct.Struct("<IB3x")
U32, U64 = struct.Struct("<I"), struct.Struct("<Q")
RANGE = struct.Struct("<QQ")

native = None  # c_python_backend_utils, once numpy was imported


class Channel:
    """Frames over a socket."""

    def __init__(self, fd):
        os.set_inheritable(fd, False)
        self.socket = socket.socket(fileno=fd)
        self.buffer = bytearray(64 << 10)
        self.lock = threading.Lock()

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


class Region:
    """A mapped range of the memory file."""

    __slots__ = ("mmap", "base", "end", "address", "pin")

    def __init__(self, base, size):
        self.mmap = mmap.mmap(MEMORY, size, offset=base)
        self.base, self.end = base, base + size
        self.pin = ctypes.c_char.from_buffer(self.mmap)
        self.address = ctypes.addressof(self.pin)


class Regions:
    """The ranges in use. Small tensors share windows of 2 MiB that begin every MiB."""

    SMALL, WINDOW, KEEP = 1 << 20, 2 << 20, 64

    def __init__(self):
        self.known = collections.OrderedDict()
        self.lock = threading.Lock()

    def find(self, offset, size):
        small = size <= self.SMALL
        key = offset >> 20 if small else (offset, size)
        with self.lock:
            region = self.known.get(key)
            if region is None or offset + size > region.end:
                region = self.known[key] = self.map(offset, size, small)
                if len(self.known) > self.KEEP:
                    self.known.popitem(last=False)
            else:
                self.known.move_to_end(key)
            return region

    def map(self, offset, size, small):
        if small:
            base = offset >> 20 << 20
            return Region(base, min(self.WINDOW, os.fstat(MEMORY).st_size - base))
        base = offset & -mmap.ALLOCATIONGRANULARITY
        return Region(base, offset - base + size)


class Block:
    """Memory of the server that a request's inputs lie in. Its end gives it back."""

    __slots__ = ("number", "released")

    def __init__(self, number, released):
        self.number, self.released = number, released

    def __del__(self):
        self.released.append(self.number)


class Host:
    """What the classes of the native module ask of this process and of the server."""

    def __init__(self, control):
        self.control = control
        self.report = Channel(REPORT)
        self.regions = Regions()
        self.running = None  # a number for the batch that runs
        self.batches = 0

    def memory(self, offset, size):
        region = self.regions.find(offset, size)
        return region, region.address + offset - region.base

    def bytes(self, offset, size):
        region = self.regions.find(offset, size)
        return region.mmap[offset - region.base:offset - region.base + size]

    def write(self, offset, size, data):
        region = self.regions.find(offset, size)
        region.mmap[offset - region.base:offset - region.base + size] = data

    def ask(self, kind, body):
        """Sends a question while a batch runs and returns the answer."""
        with self.control.lock:
            self.control.send(kind, body)
            return self.control.receive()[1]

    def cancelled(self, index):
        batch, i = index
        with self.control.lock:
            if batch != self.running:
                return False  # the request is answered
            self.control.send(IS_CANCELLED, U32.pack(i))
            return self.control.receive()[1] == b"\x01"

    def log(self, level, file, line, message):
        body = bytes([level & 3]) + U32.pack(line) + text(os.path.basename(file)) + text(message)
        with self.report.lock:
            self.report.send(LOG, body)


def text(s):
    b = s.encode("utf-8", "replace")
    return U32.pack(len(b)) + b


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


REQUEST = struct.Struct("<IQBQ")  # flags, timeout, kind of correlation ID, correlation ID
INPUT = struct.Struct("<BB")  # data type, rank
OUTPUT = struct.Struct("<BB")


class ModelError(Exception):
    """An error with the text that clients get."""


class LimitError(Exception):
    """A limit that cannot be set."""


def impose(limits):
    """Sets the limits of this process, which the processes that it starts inherit."""
    import resource
    for parameter, value, call in (
            ("python_memory_limit_bytes", limits.get("memory"), lambda n: resource.setrlimit(resource.RLIMIT_DATA, (n, n))),
            ("python_cpus", limits.get("cpus"), lambda cpus: os.sched_setaffinity(0, cpus)),
            ("python_nice", limits.get("nice"), os.nice)):
        try:
            if value:
                call(value)
        except (OSError, ValueError) as e:
            raise LimitError(f"{parameter}: {e}") from e


def describe(e):
    """The text of an exception as pybind11 writes it: the frames of this program are left out."""
    if getattr(e, "triton_plain", False):
        return str(e)  # of a shipped backend, for users
    tb = e.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    frame = tb.tb_frame if tb is not None else None
    line = tb.tb_lineno if tb is not None else 0
    lines = []
    while frame is not None and frame.f_code.co_filename != __file__:
        if native is None or frame.f_code.co_filename != native.__file__:
            lines.append(f"  {frame.f_code.co_filename}({line}): {frame.f_code.co_name}\n")
        frame = frame.f_back
        line = frame.f_lineno if frame is not None else 0
    at = "\n\nAt:\n" + "".join(lines) if lines else ""
    return f"{type(e).__name__}: {e}{at}"


class Runner:
    def __init__(self):
        self.control = Channel(CONTROL)
        self.host = Host(self.control)
        self.model = None
        self.loop = None
        self.released = []
        self.about = {}

    def hello(self):
        global native
        about = {"python": sys.version.split()[0], "executable": sys.executable, "numpy": "", "error": ""}
        try:
            if len(sys.argv) > 1:
                impose(json.loads(sys.argv[1]))
        except LimitError as e:
            about["limit"] = str(e)
        try:
            import numpy
            about["numpy"] = numpy.__version__
            import c_python_backend_utils
            native = c_python_backend_utils
            native._host = self.host
        except Exception as e:
            about["error"] = f"{type(e).__name__}: {e}"
        self.control.send(HELLO, json.dumps(about).encode())

    def serve(self):
        self.hello()
        while True:
            kind, body = self.control.receive()
            if kind == EXECUTE:
                with self.control.lock:
                    self.host.batches += 1
                    self.host.running = self.host.batches
                answer = self.execute(body)
                with self.control.lock:
                    self.host.running = None
                    self.control.send(*answer)
            elif kind == FINALIZE:
                self.answer(self.finalize)
                return
            elif kind == LOAD:
                self.answer(self.load, json.loads(body))
            elif kind == COMPLETE:
                self.answer(self.complete, json.loads(body))
            else:
                raise RuntimeError(f"the server sent a frame of type {kind}")

    def answer(self, call, *args):
        try:
            kind, body = DONE, call(*args) or b""
        except BaseException as e:
            kind, body = FAILED, describe(e).encode("utf-8", "replace")
        with self.control.lock:
            self.control.send(kind, body)

    def find(self, about):
        """Imports model.py and returns its class."""
        self.about = about
        native._model_dir = about["version_dir"]
        here = os.path.dirname(__file__)
        sys.path[:] = [""] + [p for p in sys.path if p != here] + about["path"] + [here]
        sys.argv = [""]
        name = about["module"]
        __import__(name)
        import triton_python_backend_utils as utils  # the model's own, if it has one
        for public in native.__all__:
            setattr(utils, public, getattr(native, public))
        return sys.modules[name].TritonPythonModel

    def load(self, about):
        self.model = self.find(about)()
        if hasattr(self.model, "initialize"):
            self.model.initialize(about["args"])

    def complete(self, about):
        found = self.find(about)
        if not hasattr(found, "auto_complete_config"):
            return b""
        import triton_python_backend_utils as utils
        config = found.auto_complete_config(utils.ModelConfig(about["config"]))
        if not isinstance(config, utils.ModelConfig):
            raise native.TritonModelException(
                f"auto_complete_config function in model '{about['name']}' must return a valid pb.ModelConfig object.")
        return json.dumps(config._model_config).encode()

    def finalize(self):
        if hasattr(self.model, "finalize"):
            self.model.finalize()

    def execute(self, body):
        """Runs a batch and returns the answer frame."""
        try:
            result = self.run(body)
        except ModelError as e:
            result = b"\x01" + text(str(e))
        except BaseException as e:
            result = b"\x01" + text(describe(e))
        released, self.released[:] = self.released[:], ()
        return RESULT, result + U32.pack(len(released)) + b"".join(map(U32.pack, released))

    def run(self, body):
        grant, requests = self.requests(Body(body))
        wanted = [r._outputs for r in requests]
        if not hasattr(self.model, "execute"):
            raise ModelError(f"Python model {self.about['file']} does not implement `execute` method.")
        responses = self.model.execute(requests)
        if inspect.iscoroutine(responses):
            responses = self.complete_coroutine(responses)
        self.check(responses, len(requests))
        return self.result(responses, wanted, grant)

    def complete_coroutine(self, coroutine):
        import asyncio
        if self.loop is None:
            self.loop = asyncio.new_event_loop()
        return self.loop.run_until_complete(coroutine)

    def requests(self, body):
        count, = body.unpack(U32)
        grant = body.unpack(RANGE)
        return grant, [self.request(body, i) for i in range(count)]

    def request(self, body, index):
        request = native.InferenceRequest.__new__(native.InferenceRequest)
        request._index = (self.host.running, index)
        request._flags, request._timeout, kind, number = body.unpack(REQUEST)
        correlation, request._id, request._parameters = body.text(), body.text(), body.text()
        request._correlation = correlation if kind else number
        request._trace = None
        outputs, = body.unpack(U32)
        request._outputs = {body.text() for _ in range(outputs)}
        block, = body.unpack(U32)
        block = Block(block, self.released) if block else None
        inputs, = body.unpack(U32)
        request._inputs = [self.input(body, block) for _ in range(inputs)]
        return request

    def input(self, body, block):
        name = body.text()
        dtype, rank = body.unpack(INPUT)
        shape = struct.unpack_from(f"<{rank}q", body.body, body.at)
        body.at += 8 * rank
        return native.Tensor._input(name, dtype, shape, block, body.unpack(RANGE))

    def check(self, responses, count):
        if not isinstance(responses, list):
            raise ModelError(f"Expected a list in the execute return, found type '{type(responses)}'.")
        if len(responses) != count:
            raise ModelError(
                "Number of InferenceResponse objects do not match the number of InferenceRequest objects. "
                f"InferenceRequest(s) size is:{count}, and InferenceResponse(s) size is:{len(responses)}\n")
        for r in responses:
            if r is None:
                raise ModelError(
                    "UNSUPPORTED: this server does not support None in the list that execute returns yet")
            if not isinstance(r, native.InferenceResponse):
                raise ModelError(
                    "Expected an 'InferenceResponse' object in the execute function return list, found type "
                    f"'{type(r)}'.")

    def result(self, responses, wanted, grant):
        parts, payloads, size = [b"\x00", U32.pack(len(responses))], [], 0
        for response, names in zip(responses, wanted):
            if response._error is not None:
                parts.append(bytes([1, response._error._code & 7]) + text(response._error._message))
                continue
            outputs = [t for t in response._outputs if t._name in names]
            parts.append(b"\x00" + text(response._parameters) + U32.pack(len(outputs)))
            for t in outputs:
                payload = t._payload()
                n = payload.nbytes if t._data is None and not isinstance(payload, bytes) else len(payload)
                parts.append(text(t._name) + OUTPUT.pack(t._dtype, len(t._shape)))
                parts.append(struct.pack(f"<{len(t._shape)}q", *t._shape) + RANGE.pack(size, n))
                if n:
                    payloads.append((size, n, payload))
                size += n + 63 & -64
        if size:
            self.write(payloads, size, grant)
        return b"".join(parts)

    def write(self, payloads, size, grant):
        if size > grant[1]:
            grant = RANGE.unpack(self.host.ask(NEED, U64.pack(size)))
            if grant[1] < size:
                raise ModelError(f"the server has no memory for {size} bytes of outputs")
        for offset, n, payload in payloads:
            self.host.write(grant[0] + offset, n, payload)


def main():
    for s in (signal.SIGINT, signal.SIGTERM):
        signal.signal(s, signal.SIG_IGN)
    os.set_inheritable(MEMORY, False)
    Runner().serve()


if __name__ == "__main__":
    main()
