"""Reads the requests of a batch out of a frame."""

import struct

from _triton_channel import HEADER, TENSOR, U32, Body
from _triton_memory import Block
from _triton_request import InferenceRequest
from _triton_tensor import Tensor

BATCH = struct.Struct("<IQQQ")  # number of requests, number of the first, range for outputs
# Flags, timeout, correlation ID, block, bytes of the request, of its form and of its texts.
REQUEST = struct.Struct("<IQQIIII")
FORMS = 256  # how many forms are kept


class Form:
    """What requests have in common: requested outputs; names, types and shapes of inputs."""

    __slots__ = ("outputs", "inputs", "places")

    def __init__(self, frame):
        body = Body(frame)
        body.at = 0
        self.outputs = frozenset(body.text() for _ in range(body.unpack(U32)[0]))
        self.inputs = tuple(self.input(body) for _ in range(body.unpack(U32)[0]))
        self.places = struct.Struct(f"<{2 * len(self.inputs)}Q")  # offset and size of each

    def input(self, body):
        name = body.text()
        dtype, rank = body.unpack(TENSOR)
        return name, dtype, body.shape(rank)


class Batches:
    """Reads batches. It keeps the forms that it has read."""

    def __init__(self, host):
        self.host = host
        self.forms = {}

    def read(self, frame):
        """Returns the requests of a batch, and the range of memory for its outputs."""
        count, number, *grant = BATCH.unpack_from(frame, HEADER.size)
        at = HEADER.size + BATCH.size
        requests = []
        for number in range(number, number + count):
            request, at = self.request(frame, at, number)
            requests.append(request)
        return requests, grant

    def request(self, frame, at, number):
        request = InferenceRequest.__new__(InferenceRequest)
        flags, timeout, correlation, block, size, form, texts = REQUEST.unpack_from(frame, at)
        request._number, request._flags, request._timeout, request._correlation = number, flags, timeout, correlation
        end = at + size
        at += REQUEST.size
        key = bytes(frame[at:at + form])
        at += form
        form = self.forms.get(key)
        if form is None:
            if len(self.forms) >= FORMS:
                self.forms.clear()
            form = self.forms[key] = Form(key)
        request._outputs = form.outputs
        if texts:
            body = Body(frame)
            body.at = at
            request._correlation = body.text() or correlation
            request._id, request._parameters, request._context = body.text(), body.text(), body.text()
            at += texts
        places = form.places.unpack_from(frame, at)
        memory = Block(block, places[0], 0, self.host) if block else frame
        request._inputs = inputs = []
        i = 0
        for name, dtype, shape in form.inputs:
            inputs.append(Tensor._input(name, dtype, shape, memory, places[i:i + 2]))
            i += 2
        return request, end
