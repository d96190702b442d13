"""The classes that NVIDIA's Python backend defines in its native module of this name."""

import sys

import _triton_base as _base
from _triton_base import TritonError, TritonModelException
from _triton_call import ResponseIterator
from _triton_request import InferenceRequest, InferenceTrace, PreferredMemory
from _triton_response import InferenceResponse, InferenceResponseSender
from _triton_tensor import Tensor

# The names that are set into triton_python_backend_utils.
__all__ = [
    "TritonError", "TritonModelException", "Tensor", "InferenceRequest", "InferenceResponse", "Logger",
    "PreferredMemory", "MetricFamily", "TRITONSERVER_MEMORY_GPU", "TRITONSERVER_MEMORY_CPU", "load_model",
    "unload_model", "is_model_ready", "get_model_dir",
]

TRITONSERVER_MEMORY_CPU = 0
TRITONSERVER_MEMORY_GPU = 2


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
    _base.host.log(level, caller.f_code.co_filename, caller.f_lineno, message)


class MetricFamily:
    COUNTER, GAUGE, HISTOGRAM = range(3)

    def __init__(self, name, description, kind):
        _base.unsupported("custom metrics (MetricFamily)")


def load_model(model_name, config="", files=None):
    _base.unsupported("model control (load_model)")


def unload_model(model_name, unload_dependents=False):
    _base.unsupported("model control (unload_model)")


def is_model_ready(model_name, model_version=""):
    _base.unsupported("model control (is_model_ready)")


def get_model_dir():
    return _base.model_dir
