"""The classes that NVIDIA's Python backend defines in its native module of this name."""

import base64
import json
import sys

import _triton_base as _base
from _triton_base import TritonError, TritonModelException, to_str
from _triton_call import ResponseIterator
from _triton_channel import CONTROL_MODEL
from _triton_metric import Metric, MetricFamily, MetricKind
from _triton_request import InferenceRequest, InferenceTrace, MemoryType, PreferredMemory
from _triton_response import InferenceResponse, InferenceResponseSender
from _triton_tensor import Tensor

# The names that are set into triton_python_backend_utils.
__all__ = [
    "TritonError", "TritonModelException", "Tensor", "InferenceRequest", "InferenceResponse", "Logger",
    "PreferredMemory", "MetricFamily", "TRITONSERVER_MEMORY_GPU", "TRITONSERVER_MEMORY_CPU", "load_model",
    "unload_model", "is_model_ready", "get_model_dir",
]

TRITONSERVER_MEMORY_GPU, TRITONSERVER_MEMORY_CPU = MemoryType


LogLevel = _base.Enum("LogLevel", "INFO WARNING ERROR VERBOSE", start=0)


class Logger:
    LogLevel = LogLevel
    INFO, WARNING, ERROR, VERBOSE = LogLevel

    @staticmethod
    def log(message, level=INFO):
        _log(level, message, "log")

    @staticmethod
    def log_info(message):
        _log(Logger.INFO, message, "log_info")

    @staticmethod
    def log_warn(message):
        _log(Logger.WARNING, message, "log_warn")

    @staticmethod
    def log_error(message):
        _log(Logger.ERROR, message, "log_error")

    @staticmethod
    def log_verbose(message):
        _log(Logger.VERBOSE, message, "log_verbose")


def _log(level, message, function):
    message = to_str(message)
    if not isinstance(message, str) or not isinstance(level, LogLevel):
        raise TypeError(f"{function}(): incompatible function arguments. The following argument types are supported:\n"
                        "    1. (message: str, level: c_python_backend_utils.Logger.LogLevel = LogLevel.INFO) -> None\n\n"
                        f"Invoked with: {message!r}, {level!r}")
    caller = sys._getframe(2)
    _base.host.log(level, caller.f_code.co_filename, caller.f_lineno, message)


def _control(prefix, **order):
    try:
        return _base.host.question(CONTROL_MODEL, json.dumps(order).encode())
    except RuntimeError as e:
        raise TritonModelException(
            f"{prefix}: Failed to process the request for model '{_base.instance}', message: {e}") from None


def _texts(function, signature, *values):
    """The arguments of a function that takes texts."""
    texts = [to_str(v) for v in values]
    if not all(isinstance(t, str) for t in texts):
        raise TypeError(f"{function}(): incompatible function arguments. The following argument types are supported:\n"
                        f"    1. ({signature}) -> None\n\nInvoked with: {', '.join(map(repr, values))}")
    return texts


def load_model(model_name, config="", files=None):
    model_name, config = _texts(
        "load_model", "model_name: str, config: str = '', files: object = None", model_name, config)
    if files is not None and not isinstance(files, dict):
        raise TritonModelException(
            f"failed to load model '{model_name}', files should be a dictionary of file paths and file contents")
    for content in (files or {}).values():
        if not isinstance(content, bytes):
            raise TypeError(f"Object of type '{type(content).__name__}' is not an instance of 'bytes'")
    files = {path: base64.b64encode(content).decode() for path, content in (files or {}).items()}
    _control("Failed to load model", do="load", model=model_name, config=config, files=files)


def unload_model(model_name, unload_dependents=False):
    model_name, = _texts("unload_model", "model_name: str, unload_dependents: bool = False", model_name)
    _control("Failed to unload model", do="unload", model=model_name, dependents=bool(unload_dependents))


def is_model_ready(model_name, model_version=""):
    model_name, model_version = _texts(
        "is_model_ready", "model_name: str, model_version: str = ''", model_name, model_version)
    return _control("Failed to check model readiness", do="ready", model=model_name, version=model_version) != ""


_base.native(Logger, LogLevel)


def get_model_dir():
    return _base.model_dir
