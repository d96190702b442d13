"""Requests."""

import _triton_base as _base
import _triton_response as _response
from _triton_base import TritonModelException


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
        self._parameters = _response.parameters_text(parameters)
        self._reply = None
        self._release = 0

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
        return _response.is_cancelled(self._reply)

    def get_response_sender(self):
        return _response.InferenceResponseSender(self._reply)

    def set_release_flags(self, flags):
        self._release = flags

    def exec(self, decoupled=False):
        _base.unsupported("requests to other models (BLS, InferenceRequest.exec)")

    def async_exec(self, decoupled=False):
        _base.unsupported("requests to other models (BLS, InferenceRequest.async_exec)")


_base.native(InferenceRequest, InferenceTrace, PreferredMemory)
