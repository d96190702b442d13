"""Requests."""

import enum
import threading

import _triton_base as _base
import _triton_response as _response
from _triton_base import TritonModelException, fits, to_str
from _triton_call import ResponseIterator, Responses, call
from _triton_tensor import Tensor


class InferenceTrace:
    _request = 0  # the number of the request that is traced
    _context = ""

    def get_context(self):
        return self._context or None


REQUIRED = object()
SEQUENCE = (list, tuple)
_replies = threading.Lock()


class MemoryType(enum.Enum):
    TRITONSERVER_MEMORY_GPU = 0
    TRITONSERVER_MEMORY_CPU = 1

    def __int__(self):
        return self.value

    __index__ = __int__


class PreferredMemory:
    """Where the outputs of a call shall be. The device of the CPU does not matter."""

    _gpu = False

    def __init__(self, preferred_memory_type=REQUIRED, preferred_device_id=0):
        if (not isinstance(preferred_memory_type, MemoryType) or not isinstance(preferred_device_id, int)
                or not -1 << 63 <= preferred_device_id < 1 << 63):
            given = [] if preferred_memory_type is REQUIRED else [repr(preferred_memory_type)]
            if preferred_device_id != 0:
                given.append(repr(preferred_device_id))
            raise TypeError(
                "__init__(): incompatible constructor arguments. The following argument types are supported:\n"
                "    1. c_python_backend_utils.PreferredMemory(preferred_memory_type: "
                "triton::backend::python::PreferredMemory::MemoryType, preferred_device_id: int = 0)\n\n"
                f"Invoked with: {', '.join(given)}")
        self._gpu = preferred_memory_type is MemoryType.TRITONSERVER_MEMORY_GPU


DEFAULT_MEMORY = PreferredMemory(MemoryType.TRITONSERVER_MEMORY_CPU)


def check_flags(function, flags):
    if not fits(flags, 32):
        raise TypeError(f"{function}(): incompatible function arguments. The following argument types are supported:\n"
                        f"    1. (self: c_python_backend_utils.InferenceRequest, flags: int) -> None\n\n"
                        f"Invoked with: {flags!r}")


class InferenceRequest:
    # Of a request of the server, which _triton_batch.py makes: its number, its trace context and
    # whether execute has answered it.
    _number, _context, _answered = 0, "", False
    _id = _parameters = ""
    _trace = _reply = None
    _release, _gpu = 0, False
    _model, _version = "", -1  # of such a request: this model, which runner.py sets

    def __init__(self, request_id="", correlation_id=0, inputs=REQUIRED, requested_output_names=REQUIRED,
                 model_name=REQUIRED, model_version=-1, flags=0, timeout=0, preferred_memory=DEFAULT_MEMORY,
                 trace=InferenceTrace(), parameters=None):
        request_id, model_name = to_str(request_id), to_str(model_name)
        try:
            sequences = isinstance(inputs, SEQUENCE) and isinstance(requested_output_names, SEQUENCE)
            inputs, outputs = list(inputs), {to_str(name) for name in requested_output_names}
            valid = (
                sequences and correlation_id is not None and fits(flags, 32) and fits(timeout, 64)
                and isinstance(request_id, str) and isinstance(model_name, str) and isinstance(model_version, int)
                and isinstance(preferred_memory, PreferredMemory) and isinstance(trace, InferenceTrace))
            for name in outputs:
                valid = valid and isinstance(name, str)
            for t in inputs:
                valid = valid and (t is None or isinstance(t, Tensor))
        except TypeError:
            valid = False
        if not valid:
            raise TypeError(
                "__init__(): incompatible constructor arguments. The following argument types are supported:\n"
                "    1. c_python_backend_utils.InferenceRequest(request_id: str = '', correlation_id: object = 0, "
                "inputs: List[triton::backend::python::PbTensor], requested_output_names: List[str], model_name: str, "
                "model_version: int = -1, flags: int = 0, timeout: int = 0, preferred_memory: "
                "c_python_backend_utils.PreferredMemory, trace: c_python_backend_utils.InferenceTrace, "
                "parameters: object = None)")
        self._parameters = _response.parameters_text(parameters)
        if type(correlation_id) is not int:
            if not isinstance(correlation_id, (int, str)):
                raise TritonModelException("Correlation ID must be integer or string")
            if isinstance(correlation_id, bool):
                correlation_id = int(correlation_id)
        if isinstance(correlation_id, int) and not fits(correlation_id, 64):
            raise RuntimeError("Unable to cast Python instance to C++ type (#define PYBIND11_DETAILED_ERROR_MESSAGES "
                               "or compile in debug mode for details)")
        if None in inputs:
            raise TritonModelException(
                f"Input tensor for request with id '{request_id}' and model name '{model_name}' should not be empty.")
        if "" in outputs:
            raise TritonModelException(
                f"Requested output name for request with id '{request_id}' and model name '{model_name}' "
                "should not be empty.")
        self._id, self._correlation, self._inputs, self._outputs = request_id, correlation_id, inputs, outputs
        self._model, self._version, self._flags, self._timeout = model_name, model_version, flags, timeout
        self._trace, self._reply, self._release, self._gpu = trace, None, 0, preferred_memory._gpu

    def request_id(self):
        return self._id

    def correlation_id(self):
        return self._correlation

    def inputs(self):
        return list(self._inputs)

    def flags(self):
        return self._flags

    def set_flags(self, flags):
        check_flags("set_flags", flags)
        self._flags = flags

    def timeout(self):
        return self._timeout

    def parameters(self):
        return self._parameters or "{}"

    def requested_output_names(self):
        return set(self._outputs)

    def trace(self):
        if self._trace is None:
            self._trace = InferenceTrace()
            self._trace._request, self._trace._context = self._number, self._context
        return self._trace

    def is_cancelled(self):
        return _response.is_cancelled(self._answers())

    def get_response_sender(self):
        return _response.InferenceResponseSender(self._answers())

    def _answers(self):
        """What is known of the responses. Most requests are answered by execute and never need it."""
        if self._reply is None and self._number:
            with _replies:
                if self._reply is None:
                    self._reply = _response.Reply(self._number, self._outputs, self._answered)
        return self._reply

    def _close(self):
        """Execute has answered the request."""
        self._answered = True
        if self._reply is not None:
            self._reply.close()

    def set_release_flags(self, flags):
        check_flags("set_release_flags", flags)
        self._release = flags

    def exec(self, decoupled=False):
        responses = Responses(gpu=self._gpu)
        call(self, decoupled, responses)
        if decoupled:
            return ResponseIterator(responses)
        return responses.get()

    def async_exec(self, decoupled=False):
        import asyncio
        loop = asyncio.get_running_loop()
        future = loop.create_future()

        def first():
            if not future.done():
                future.set_result(ResponseIterator(responses) if decoupled else responses.get())

        responses = Responses(lambda: loop.call_soon_threadsafe(first), self._gpu)
        call(self, decoupled, responses)
        return future


_base.native(InferenceRequest, InferenceTrace, MemoryType, PreferredMemory)
