"""Responses and what sends them."""

import json
import struct
import threading

import _triton_base as _base
from _triton_base import TritonError, TritonModelException
from _triton_channel import SEND, U32, U64, text
from _triton_tensor import Tensor

FINAL, RESCHEDULE = 1, 2
RESPONSE, ERROR, NONE, RESCHEDULED = range(4)  # kinds of results
HEAD_OF_OUTPUTS = bytes([1, RESPONSE])  # there is a response, and what it is
HEAD = struct.Struct("<BII")  # kind, bytes of the parameters, number of outputs


def parameters_text(parameters):
    """The JSON text of parameters."""
    if parameters is None:
        return ""
    if not isinstance(parameters, dict):
        raise TritonModelException(f"Expect N8pybind114dictE, got {type(parameters)}")
    for key, value in parameters.items():
        if not isinstance(key, str):
            raise TritonModelException(f"Expect parameters keys to have type str, found type {type(key)}")
        if not isinstance(value, (bool, int, str)):
            raise TritonModelException(f"Expect parameters values to have type bool/int/str, found type {type(value)}")
    return json.dumps(parameters) if parameters else ""


REFUSED = "__init__(): incompatible constructor arguments. The following argument types are supported:\n"


class InferenceResponse:
    _final = True  # of a call: it is the last one

    def __init__(self, output_tensors=(), error=None, parameters=None):
        if error is not None and not isinstance(error, TritonError):
            raise TypeError(f"{REFUSED}The error must be a c_python_backend_utils.TritonError, found {error!r}")
        if not hasattr(output_tensors, "__getitem__"):
            raise TypeError(f"{REFUSED}The outputs must be a list, found {output_tensors!r}")
        self._outputs = list(output_tensors)
        for t in self._outputs:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(f"{REFUSED}An output must be a c_python_backend_utils.Tensor, found {t!r}")
        if None in self._outputs:
            raise TritonModelException("Output tensor for inference response should not be empty.")
        self._error = error
        self._parameters = parameters_text(parameters)

    def output_tensors(self):
        return list(self._outputs)

    def has_error(self):
        return self._error is not None

    def error(self):
        return self._error

    def parameters(self):
        return self._parameters

    def _encode(self, parts, large, wanted):
        """Appends the kind and the body of the response, with the outputs that were requested. See Tensor._encode."""
        if self._error is not None:
            parts.append(bytes([ERROR, self._error._code]) + text(self._error._message))
            return
        outputs = [t for t in self._outputs if t._name in wanted]
        if self._parameters:
            parts.append(bytes([RESPONSE]) + text(self._parameters) + U32.pack(len(outputs)))
        else:
            parts.append(HEAD.pack(RESPONSE, 0, len(outputs)))
        for t in outputs:
            t._encode(parts, large)


class Reply:
    """What is known of the responses of one request of the server."""

    __slots__ = ("id", "wanted", "decoupled", "lock", "sent", "closed")

    def __init__(self, number, wanted, closed):
        self.id, self.wanted, self.decoupled = number, wanted, _base.decoupled
        self.lock = threading.RLock()
        self.sent, self.closed = int(closed), closed

    def __del__(self):
        if not self.closed and not _base.finalizing:
            _base.host.forget(self.id)

    def close(self):
        with self.lock:
            self.closed = True

    def check(self, response, flags):
        """Raises what forbids this response. The caller has the lock."""
        if not self.decoupled:
            if response is not None and self.sent > 0:
                raise TritonModelException(
                    "Unable to send response. Non-decoupled model cannot send more than one response.")
            if response is None and self.sent == 0:
                raise TritonModelException(
                    "Unable to send response. Non-decoupled model cannot send complete final before sending a response.")
        if self.closed:
            raise TritonModelException("Unable to send response. Response sender has been closed.")

    def count(self, flags):
        self.sent += 1
        self.closed = flags == FINAL

    def send(self, response, flags):
        with self.lock:
            self.check(response, flags)
            if response is None and not self.decoupled:  # the server has the response as the final one
                self.count(flags)
                return
            parts, kept, failed = [b"\x00"], None, None
            if response is not None:
                parts, kept, failed = self.encode(response)
            self.count(flags)
            final = flags == FINAL or not self.decoupled
            _base.host.post(SEND, b"".join((U64.pack(self.id), bytes([final]), *parts)))
            del kept  # not before: the server reads the memory for the frame
        if failed is not None:
            raise failed

    def encode(self, response):
        """Returns the parts of a response's frame, what keeps its memory, and the error that the model gets."""
        parts, failed, kept = [b"\x01"], None, None
        if response._error is None:
            outputs = [t for t in response._outputs if t._name in self.wanted]
            try:
                tensors, kept = _base.host.store(outputs)
                return [HEAD_OF_OUTPUTS + text(response._parameters), *tensors], kept, None
            except MemoryError as e:
                failed = TritonModelException(str(e))
                response = InferenceResponse(error=TritonError(str(e)))
        response._encode(parts, None, self.wanted)
        return parts, kept, failed


class InferenceResponseSender:
    def __init__(self, reply):
        self._reply = reply

    def send(self, response=None, flags=0):
        if response is not None and not isinstance(response, InferenceResponse) or not _base.fits(flags, 32):
            raise TypeError(
                "send(): incompatible function arguments. The following argument types are supported:\n"
                "    1. (self: c_python_backend_utils.InferenceResponseSender, "
                "response: c_python_backend_utils.InferenceResponse = None, flags: int = 0) -> None\n\n"
                f"Invoked with: {self!r}, {response!r}, {flags!r}")
        if flags not in (0, FINAL):
            raise TritonModelException("Unable to send response. Unsupported flag provided.")
        if flags == 0 and response is None:
            raise TritonModelException(
                "Inference Response object must be provided when the response flags is set to zero.")
        if self._reply is None:
            raise TritonModelException(
                "Unable to send response. Response sender has no reference to the decoupled state of the model.")
        self._reply.send(response, flags)

    def is_cancelled(self):
        return is_cancelled(self._reply)


def is_cancelled(reply):
    return reply is not None and not reply.closed and _base.host.cancelled(reply.id)


_base.native(InferenceResponse, InferenceResponseSender)
