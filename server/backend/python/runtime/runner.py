"""The program of a child process that runs one instance of a Python model.

It answers the frames of the server on the control channel, exchanges others on the event
channel and finds tensors in the memory file. The frames are in
docs/adr/0022-child-processes.md.
"""

import json
import os
import signal
import struct
import sys
import threading

import _triton_base as base
import _triton_channel as wire
import _triton_host
from _triton_channel import HEADER, PLACE, RANGE, U32, U64, Channel, text
from _triton_error import ModelError, describe
from _triton_limits import LimitError, impose
from _triton_memory import aligned

HERE = os.path.dirname(__file__)
STATUS = struct.Struct("<BI")  # whether execute failed, number of requests

native = response = None  # modules that need numpy


class Runner:
    def __init__(self):
        self.control = Channel(wire.CONTROL)
        self.host = base.host = _triton_host.Host(self.control)
        self.batches = self.model = None
        self.loop, self.loop_lock = None, threading.Lock()
        self.background = set()
        self.about = {}

    def hello(self):
        global native, response
        about = {"python": sys.version.split()[0], "executable": sys.executable, "numpy": "", "error": ""}
        try:
            if len(sys.argv) > 1:
                impose(json.loads(sys.argv[1]))
        except LimitError as e:
            about["limit"] = str(e)
        try:
            import numpy
            about["numpy"] = numpy.__version__
            import _triton_batch
            import _triton_fork
            import _triton_response
            import c_python_backend_utils
            native, response = c_python_backend_utils, _triton_response
            self.batches = _triton_batch.Batches(self.host)
            _triton_fork.watch()
        except Exception as e:
            about["error"] = f"{type(e).__name__}: {e}"
        self.control.send(wire.HELLO, json.dumps(about).encode())

    def serve(self):
        self.hello()
        while True:
            kind, body = self.control.receive()
            if kind == wire.EXECUTE:
                self.control.send(wire.RESULT, self.execute(body))
                self.host.give_back()
            elif kind == wire.FINALIZE:
                self.answer(self.finalize)
                return
            elif kind == wire.LOAD:
                self.answer(self.load, json.loads(body[HEADER.size:]))
            elif kind == wire.COMPLETE:
                self.answer(self.complete, json.loads(body[HEADER.size:]))
            else:
                raise RuntimeError(f"the server sent a frame of type {kind}")

    def answer(self, call, *args):
        try:
            kind, body = wire.DONE, call(*args) or b""
        except BaseException as e:
            kind, body = wire.FAILED, describe(e).encode("utf-8", "replace")
        self.control.send(kind, body)

    def find(self, about):
        """Imports model.py and returns its class."""
        self.about = about
        base.instance = about.get("args", {}).get("model_instance_name", about["name"])
        base.model_dir, base.decoupled = about["version_dir"], about.get("decoupled", False)
        sys.path[:] = [""] + [p for p in sys.path if p != HERE] + about["path"] + [HERE]
        sys.argv = [""]
        name = about["module"]
        __import__(name)
        import triton_python_backend_utils as utils  # the model's own, if it has one
        for public in native.__all__:
            setattr(utils, public, getattr(native, public))
        return sys.modules[name].TritonPythonModel

    def load(self, about):
        native.InferenceRequest._model = about["name"]
        native.InferenceRequest._version = int(about["args"]["model_version"])
        self.model = self.find(about)()
        if hasattr(self.model, "initialize"):
            self.model.initialize(about["args"])
        base.initialized = True
        return U32.pack(self.host.open(self.check_readiness) if hasattr(self.model, "is_ready") else 0)

    def check_readiness(self, kind, body):
        """Calls is_ready on a thread of its own. The server asks for one call at a time."""
        threading.Thread(target=self.report_readiness, name="triton-is-ready", daemon=True).start()

    def report_readiness(self):
        result, message = 2, ""
        try:
            ready = self.model.is_ready()
            if not isinstance(ready, bool):
                import asyncio
                if asyncio.iscoroutine(ready):
                    ready = self.run_coroutine(ready).result()
            if isinstance(ready, bool):
                result = int(ready)
            else:
                message = "is_ready() must return a boolean value"
        except BaseException as e:
            message = describe(e)
        self.host.post(wire.READINESS, bytes([result]) + text(message))

    def complete(self, about):
        found = self.find(about)
        if not hasattr(found, "auto_complete_config"):
            return b""
        import triton_python_backend_utils as utils
        config = found.auto_complete_config(utils.ModelConfig(about["config"]))
        if not isinstance(config, utils.ModelConfig):
            raise ModelError(
                f"auto_complete_config function in model '{about['name']}' must return a valid pb.ModelConfig object.")
        return json.dumps(config._model_config).encode()

    def finalize(self):
        base.finalizing = True
        if self.loop is not None:
            self.loop.call_soon_threadsafe(self.loop.stop)
        if hasattr(self.model, "finalize"):
            self.model.finalize()

    def execute(self, frame):
        """Runs a batch and returns the body of the result."""
        host = self.host
        host.executing = True
        requests, self.grant = self.batches.read(frame)
        del frame
        large, given, error = [], (), None
        try:
            parts = self.run(requests, large)
        except ModelError as e:
            error = str(e)
        except BaseException as e:
            error = describe(e)
        if error is not None:
            for r in requests:
                r._close()
        requests = r = None
        if large and error is None:
            try:
                given = self.place(parts, large)
            except ModelError as e:
                error = str(e)
        large = None
        if error is not None:
            parts = [b"\x01", text(error)]
        host.executing = False
        released = wire.numbers(U32, [*given, *host.take_released()]) if given or host.released else wire.EMPTY
        return b"".join((U32.pack(host.sends), *parts, released))

    def run(self, requests, large):
        if not hasattr(self.model, "execute"):
            raise ModelError(f"Python model {self.about['file']} does not implement `execute` method.")
        responses = self.model.execute(list(requests))
        if type(responses).__name__ == "coroutine" or hasattr(responses, "__await__"):
            responses = self.complete_coroutine(responses)
        self.check(responses, requests)
        parts = [STATUS.pack(0, len(requests))]
        for r, request in zip(responses or [None] * len(requests), requests):
            if r is None:
                parts.append(self.unanswered(request))
            else:
                r._encode(parts, large, request._outputs)
        return parts

    def complete_coroutine(self, coroutine):
        """Runs the coroutine of execute; of a decoupled model it is not waited for."""
        future = self.run_coroutine(coroutine)
        if not base.decoupled:
            return future.result()
        self.background.add(future)
        future.add_done_callback(self.coroutine_done)
        return None

    def run_coroutine(self, coroutine):
        """Runs a coroutine on the event loop of the instance and returns its future."""
        import asyncio
        with self.loop_lock:
            if self.loop is None:
                self.loop = asyncio.new_event_loop()
                asyncio.set_event_loop(self.loop)
                threading.Thread(target=self.loop.run_forever, daemon=True).start()
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    def coroutine_done(self, future):
        self.background.discard(future)
        if not future.cancelled() and future.exception() is not None:
            import traceback
            lines = traceback.TracebackException.from_exception(future.exception()).format()
            native.Logger.log_error("".join(lines))

    def check(self, responses, requests):
        if responses is None:
            return
        if base.decoupled:
            raise ModelError(
                f"Python model '{base.instance}' is using the decoupled mode and the "
                "execute function must return None.")
        if not isinstance(responses, list):
            raise ModelError(f"Expected a list in the execute return, found type '{type(responses)}'.")
        if len(responses) != len(requests):
            raise ModelError(
                "Number of InferenceResponse objects do not match the number of InferenceRequest objects. "
                f"InferenceRequest(s) size is:{len(requests)}, and InferenceResponse(s) size is:{len(responses)}\n")
        for r, request in zip(responses, requests):
            if r is None:
                continue
            if request._release == response.RESCHEDULE:
                raise ModelError(
                    "Expected a None object in the execute function return list for reschduled request, found type "
                    f"'{type(r)}'.")
            if not isinstance(r, native.InferenceResponse):
                raise ModelError(
                    "Expected an 'InferenceResponse' object in the execute function return list, found type "
                    f"'{type(r)}'.")
            reply = request._reply
            if reply is None:
                request._answered = True
                continue
            try:
                with reply.lock:
                    reply.check(r, response.FINAL)
                    reply.count(response.FINAL)
            except native.TritonModelException as e:
                raise ModelError(str(e)) from None

    def place(self, parts, large):
        """Fills the gaps: the places of large outputs. A part of an input is passed as it is if nothing but large
        refers to its block any more, so nothing can write to it; all others are copied."""
        blocks = {}
        for item in large:
            block = item[3]
            if block is not None:
                blocks[block.number] = block
                item[2], item[3] = None, block.number
        del block, item
        free = {number for number in blocks if sys.getrefcount(blocks[number]) == 2}  # blocks, and the argument
        size = 0
        for item in large:
            if item[3] not in free:
                item.append(size)
                size += aligned(item[1])
        start = self.enlarge(size) if size else 0
        for index, n, payload, number, at, *to in large:
            if number in free:
                parts[index] = PLACE.pack(number, at - blocks[number].base, n)
                continue
            if payload is None:
                self.host.copy(start + to[0], at, n)
            else:
                self.host.write(start + to[0], n, payload)
            parts[index] = PLACE.pack(0, to[0], n)
        for number in free:
            blocks[number].number = 0  # the result gives it back
        return list(free)

    def unanswered(self, request):
        """What becomes of a request that execute gave no response."""
        reply = request._answers()
        if request._release != response.RESCHEDULE or reply.closed:
            return bytes([response.NONE])
        reply.close()
        return bytes([response.RESCHEDULED])

    def enlarge(self, size):
        if size > self.grant[1]:
            self.control.send(wire.NEED, U64.pack(size))
            self.grant = RANGE.unpack_from(self.control.receive()[1], HEADER.size)
            if self.grant[1] < size:
                raise ModelError(f"the server has no memory for {size} bytes of outputs")
        return self.grant[0]


def main():
    for s in (signal.SIGINT, signal.SIGTERM):
        signal.signal(s, base.ignore)
    os.set_inheritable(wire.MEMORY, False)
    Runner().serve()


if __name__ == "__main__":
    main()
