"""Requests to other models."""

import queue
import struct

import _triton_base as _base
import _triton_response as _response
from _triton_base import ErrorCode, TritonError, TritonModelException
from _triton_channel import CALL, CANCEL_CALL, EMPTY, INLINE, U32, text
from _triton_memory import Block
from _triton_tensor import Tensor

VERSION = struct.Struct("<qQ")  # version, number of the traced request
CORRELATION = struct.Struct("<BQ")
SETTINGS = struct.Struct("<IQ")  # flags, timeout
OUTPUT = struct.Struct("<IQQQ")  # block, its offset, the tensor's, size

_HEADS = 1024  # how many names, data types and shapes are kept
_heads = {}


NO_GPU = ("BackendMemory::Create, all allocation types failed:\n"
          "\tGPU: failed to get device: the Python backend of this server has no memory of a GPU; "
          "use TRITONSERVER_MEMORY_CPU, or no preferred_memory")


class Responses:
    """The responses to a call, as they come."""

    def __init__(self, on_first=None, gpu=False):
        self.queue = queue.SimpleQueue()
        self.gpu = gpu  # the outputs shall be in the memory of a GPU
        self.number = 0
        self.on_first = on_first  # called when there is a response; None: a thread waits for it

    def __call__(self, kind, body):
        """Takes a frame; the thread that reads frames calls it."""
        try:
            response = decode(body)
            if self.gpu and response._outputs:
                response._outputs, response._error = [], TritonError(NO_GPU)
        except Exception as e:
            response = _response.InferenceResponse(error=TritonError(f"{type(e).__name__}: {e}"))
            response._final = True
        self.put(response)

    def put(self, response):
        if response._final:
            _base.host.close(self.number)
        self.queue.put(response)
        if self.on_first is not None:
            first, self.on_first = self.on_first, None
            try:
                first()
            except RuntimeError:
                pass  # the event loop is closed: nothing waits

    def arrived(self):
        return not self.queue.empty()

    def get(self):
        while True:
            _base.host.wait(self)
            try:
                return self.queue.get_nowait()
            except queue.Empty:
                pass  # another thread has taken it

    def fail(self, message):
        response = _response.InferenceResponse(error=TritonError(message))
        response._final = True
        self.put(response)


def call(request, decoupled, responses):
    """Sends a request to its model. Errors are responses too."""
    if not _base.initialized or _base.finalizing:
        raise TritonModelException("BLS is only supported during the 'execute' function.")
    host = _base.host
    try:
        tensors, kept = host.store(request._inputs)
    except (TritonModelException, MemoryError) as e:
        responses.fail(str(e))
        return
    number = request._correlation
    named = isinstance(number, str)
    body = b"".join((
        b"\x01" if decoupled else b"\x00", text(request._model), VERSION.pack(request._version, request.trace()._request),
        text(request._id), CORRELATION.pack(named, 0 if named else number), text(number) if named else EMPTY,
        SETTINGS.pack(request._flags & 0xFFFFFFFF, request._timeout), text(request._parameters),
        U32.pack(len(request._outputs)), *map(text, request._outputs), *tensors))
    responses.number = host.open(responses, waits=responses.on_first is None)
    host.post(CALL, U32.pack(responses.number) + body)
    del kept  # not before: the server reads the memory for the frame


def decode(body):
    frame, at = body.body, body.at
    response = _response.InferenceResponse()
    response._final = frame[at] != 0
    if not frame[at + 1]:
        return response
    if frame[at + 2] == _response.ERROR:
        code = frame[at + 3]
        body.at = at + 4
        response._error = TritonError(body.text(), ErrorCode(code))
        return response
    body.at = at + 3
    response._parameters = body.text()
    count, = U32.unpack_from(frame, body.at)
    at = body.at + 4
    blocks = None
    for _ in range(count):
        name, dtype, shape, at = head(frame, at)
        number, base, offset, size = OUTPUT.unpack_from(frame, at)
        at += OUTPUT.size
        memory = None
        if number == INLINE:
            memory, offset = frame, at + offset
            at = offset + size
        elif number:
            if blocks is None:
                blocks = {}
            memory = blocks.get(number)
            if memory is None:
                memory = blocks[number] = Block(number, base, 0, _base.host)
        response._outputs.append(Tensor._input(name, dtype, shape, memory, (offset, size)))
    return response


def head(frame, at):
    """Reads the name, the data type and the shape of an output, and returns where they end. It keeps those that it
    has read."""
    rank_at = at + 5 + U32.unpack_from(frame, at)[0]
    end = rank_at + 1 + 8 * frame[rank_at]
    key = bytes(frame[at:end])
    known = _heads.get(key)
    if known is None:
        if len(_heads) >= _HEADS:
            _heads.clear()
        rank = key[rank_at - at]
        known = _heads[key] = (key[4:rank_at - at - 1].decode("utf-8", "replace"), key[rank_at - at - 1],
                               struct.unpack_from(f"<{rank}q", key, rank_at - at + 1))
    return *known, end


class ResponseIterator:
    """The responses of a call that may have any number of them."""

    def __init__(self, responses):
        self._source = responses
        self._responses, self._next, self._finished = [], 0, False

    def __iter__(self):
        if self._finished and self._next >= len(self._responses):
            self._next = 0
        return self

    def __next__(self):
        if self._finished:
            if self._next >= len(self._responses):
                raise StopIteration("Iteration is done for the responses.")
            self._next += 1
            return self._responses[self._next - 1]
        response = self._source.get()
        self._responses.append(response)
        if response._final:
            self._finished, self._next = True, len(self._responses)
        return response

    def cancel(self):
        if not self._finished:
            _base.host.post(CANCEL_CALL, U32.pack(self._source.number))


_base.native(ResponseIterator)
