"""The classes that NVIDIA's Python backend defines in its native module of this name.

Names that begin with an underscore are for runner.py only.
"""

import json
import struct
import sys

import numpy

__all__ = [
    "TritonError", "TritonModelException", "Tensor", "InferenceRequest", "InferenceResponse",
    "InferenceTrace", "Logger", "PreferredMemory", "MetricFamily", "TRITONSERVER_MEMORY_GPU",
    "TRITONSERVER_MEMORY_CPU", "load_model", "unload_model", "is_model_ready", "get_model_dir",
]

TRITONSERVER_MEMORY_CPU = 0
TRITONSERVER_MEMORY_GPU = 2

_BYTES = 13
_BF16 = 14
_NUMPY = {
    1: numpy.bool_, 2: numpy.uint8, 3: numpy.uint16, 4: numpy.uint32, 5: numpy.uint64,
    6: numpy.int8, 7: numpy.int16, 8: numpy.int32, 9: numpy.int64, 10: numpy.float16,
    11: numpy.float32, 12: numpy.float64, 13: numpy.object_,
}
_CODES = {t: code for code, t in _NUMPY.items()}
_CODES[numpy.bytes_] = _BYTES
_TYPESTR = {code: numpy.dtype(t).str for code, t in _NUMPY.items() if code != _BYTES}

_host = None  # runner.py sets it
_model_dir = ""


class TritonModelException(Exception):
    pass


def _unsupported(feature):
    raise TritonModelException(f"UNSUPPORTED: this server does not support {feature} in Python models yet")


class TritonError:
    UNKNOWN, INTERNAL, NOT_FOUND, INVALID_ARG, UNAVAILABLE, UNSUPPORTED, ALREADY_EXISTS, CANCELLED = range(8)

    def __init__(self, message, code=INTERNAL):
        if not isinstance(message, str) or not isinstance(code, int):
            raise TypeError(
                "__init__(): incompatible constructor arguments. The following argument types are supported:\n"
                "    1. c_python_backend_utils.TritonError(message: str, code: int = TritonError.INTERNAL)\n\n"
                f"Invoked with: {message!r}, {code!r}")
        self._message = message
        self._code = code

    def message(self):
        return self._message

    def code(self):
        return self._code


class _Slot:
    """The memory of an input, as numpy sees it. Every array over it keeps it alive."""

    __slots__ = ("__array_interface__", "region", "block")


class Tensor:
    __slots__ = ("_name", "_dtype", "_shape", "_array", "_data", "_block", "_at", "__weakref__")

    def __init__(self, name, array):
        if not isinstance(name, str) or not isinstance(array, numpy.ndarray):
            raise TypeError(
                "__init__(): incompatible constructor arguments. The following argument types are supported:\n"
                "    1. c_python_backend_utils.Tensor(arg0: str, arg1: numpy.ndarray)\n\n"
                f"Invoked with: {name!r}, {array!r}")
        if name == "":
            raise TritonModelException("Tensor name cannot be an empty string.")
        code = _CODES.get(array.dtype.type)
        if code is None:
            raise TritonModelException("NumPy dtype is not supported.")
        self._name = name
        self._dtype = code
        self._shape = array.shape
        self._block = None
        self._at = None
        self._data = None
        if code == _BYTES:
            self._data = _serialize(array)
        elif not array.flags.c_contiguous:
            array = numpy.ascontiguousarray(array)
        self._array = array

    @classmethod
    def _input(cls, name, dtype, shape, block, at):
        t = cls.__new__(cls)
        t._name, t._dtype, t._shape, t._block, t._at = name, dtype, shape, block, at
        t._array = t._data = None
        return t

    def name(self):
        return self._name

    def triton_dtype(self):
        return self._dtype

    def shape(self):
        return list(self._shape)

    def is_cpu(self):
        return True

    def as_numpy(self):
        if self._array is None:
            self._array = self._view()
        return self._array

    def _view(self):
        offset, size = self._at
        if self._dtype == _BF16:
            raise TritonModelException(
                "Tensor dtype is BF16 and cannot be converted to NumPy. Use to_dlpack() and from_dlpack() instead.")
        if self._dtype == _BYTES:
            return _deserialize(_host.bytes(offset, size) if size else b"").reshape(self._shape)
        if size == 0:
            return numpy.empty(self._shape, _NUMPY[self._dtype])
        slot = _Slot()
        slot.region, address = _host.memory(offset, size)
        slot.block = self._block
        slot.__array_interface__ = {
            "version": 3, "shape": self._shape, "typestr": _TYPESTR[self._dtype], "data": (address, False)}
        return numpy.asarray(slot)

    def _payload(self):
        """What is copied into the response: bytes or an array in C order."""
        if self._data is not None:
            return self._data
        if self._dtype == _BYTES and self._array is not None:
            return _serialize(self._array)  # the model may have written to it
        if self._dtype in (_BYTES, _BF16):
            return _host.bytes(*self._at) if self._at[1] else b""
        return self.as_numpy()

    def to_dlpack(self):
        _unsupported("DLPack (Tensor.to_dlpack)")

    @staticmethod
    def from_dlpack(name, obj):
        _unsupported("DLPack (Tensor.from_dlpack)")

    def __dlpack__(self, stream=None):
        _unsupported("DLPack (Tensor.__dlpack__)")

    def __dlpack_device__(self):
        return (1, 0)


def _serialize(array):
    """The elements of an array of objects or bytes, each behind its length."""
    parts = []
    objects = array.dtype == numpy.object_
    for element in array.ravel().tolist():
        if objects and type(element) is not bytes:
            element = str(element).encode("utf-8")
        parts.append(struct.pack("<I", len(element)))
        parts.append(element)
    return b"".join(parts)


def _deserialize(data):
    elements, at, end = [], 0, len(data)
    while at < end:
        if end - at < 4:
            raise TritonModelException("Invalid bytes tensor data: incomplete length field")
        (n,) = struct.unpack_from("<I", data, at)
        at += 4
        if n > end - at:
            raise TritonModelException("Invalid bytes tensor data: string extends beyond buffer")
        elements.append(data[at:at + n])
        at += n
    array = numpy.empty(len(elements), dtype=numpy.object_)
    array[:] = elements
    return array


def _parameters(parameters):
    """The JSON text of parameters."""
    if parameters is None:
        return ""
    if not isinstance(parameters, dict):
        raise TypeError(f"parameters must be a dict, found type {type(parameters)}")
    for key, value in parameters.items():
        if not isinstance(key, str):
            raise TritonModelException(f"Expect parameters keys to have type str, found type {type(key)}")
        if not isinstance(value, (bool, int, str)):
            raise TritonModelException(f"Expect parameters values to have type bool/int/str, found type {type(value)}")
    return json.dumps(parameters) if parameters else ""


class InferenceTrace:
    def get_context(self):
        return None


class PreferredMemory:
    def __init__(self, preferred_memory_type, preferred_device_id=0):
        self._type = preferred_memory_type
        self._device = preferred_device_id


class InferenceRequest:
    def __init__(self, request_id="", correlation_id=0, inputs=None, requested_output_names=None, model_name="",
                 model_version=-1, flags=0, timeout=0, preferred_memory=None, trace=None, parameters=None):
        if not isinstance(correlation_id, (int, str)):
            raise TritonModelException("Correlation ID must be integer or string")
        for t in inputs or ():
            if t is None:
                raise TritonModelException(
                    f"Input tensor for request with id '{request_id}' and model name '{model_name}' should not be empty.")
        for name in requested_output_names or ():
            if name == "":
                raise TritonModelException(
                    f"Requested output name for request with id '{request_id}' and model name '{model_name}' should not be empty.")
        self._id = request_id
        self._correlation = correlation_id
        self._inputs = list(inputs or ())
        self._outputs = set(requested_output_names or ())
        self._flags = flags
        self._timeout = timeout
        self._trace = trace
        self._parameters = _parameters(parameters)
        self._index = None  # in the batch that runs

    def request_id(self):
        return self._id

    def correlation_id(self):
        return self._correlation

    def inputs(self):
        return self._inputs

    def flags(self):
        return self._flags

    def set_flags(self, flags):
        self._flags = flags

    def timeout(self):
        return self._timeout

    def parameters(self):
        return self._parameters

    def requested_output_names(self):
        return self._outputs

    def trace(self):
        return self._trace if self._trace is not None else InferenceTrace()

    def is_cancelled(self):
        return self._index is not None and _host.cancelled(self._index)

    def get_response_sender(self):
        _unsupported("response senders (InferenceRequest.get_response_sender)")

    def set_release_flags(self, flags):
        if flags != 1:
            _unsupported("rescheduling (InferenceRequest.set_release_flags)")

    def exec(self, decoupled=False):
        _unsupported("requests to other models (BLS, InferenceRequest.exec)")

    def async_exec(self, decoupled=False):
        _unsupported("requests to other models (BLS, InferenceRequest.async_exec)")


class InferenceResponse:
    def __init__(self, output_tensors=(), error=None, parameters=None):
        if error is not None and not isinstance(error, TritonError):
            raise TypeError(
                "__init__(): incompatible constructor arguments. The error of an InferenceResponse must be a "
                f"c_python_backend_utils.TritonError, found {error!r}")
        self._outputs = list(output_tensors)
        for t in self._outputs:
            if t is None:
                raise TritonModelException("Output tensor for inference response should not be empty.")
            if not isinstance(t, Tensor):
                raise TypeError(
                    "__init__(): incompatible constructor arguments. The outputs of an InferenceResponse must be "
                    f"of type c_python_backend_utils.Tensor, found {t!r}")
        self._error = error
        self._parameters = _parameters(parameters)

    def output_tensors(self):
        return self._outputs

    def has_error(self):
        return self._error is not None

    def error(self):
        return self._error

    def parameters(self):
        return self._parameters


class Logger:
    INFO, WARNING, ERROR, VERBOSE = range(4)

    @staticmethod
    def log(message, level=INFO):
        _log(level, message)

    @staticmethod
    def log_info(message):
        _log(Logger.INFO, message)

    @staticmethod
    def log_warn(message):
        _log(Logger.WARNING, message)

    @staticmethod
    def log_error(message):
        _log(Logger.ERROR, message)

    @staticmethod
    def log_verbose(message):
        _log(Logger.VERBOSE, message)


def _log(level, message):
    if not isinstance(message, str):
        raise TypeError(f"the message of a log record must be a str, found {type(message)}")
    caller = sys._getframe(2)
    _host.log(level, caller.f_code.co_filename, caller.f_lineno, message)


class MetricFamily:
    COUNTER, GAUGE, HISTOGRAM = range(3)

    def __init__(self, name, description, kind):
        _unsupported("custom metrics (MetricFamily)")


def load_model(model_name, config="", files=None):
    _unsupported("model control (load_model)")


def unload_model(model_name, unload_dependents=False):
    _unsupported("model control (unload_model)")


def is_model_ready(model_name, model_version=""):
    _unsupported("model control (is_model_ready)")


def get_model_dir():
    return _model_dir
