"""Metrics that a model defines."""

import json
import struct

import _triton_base as _base
from _triton_base import TritonModelException
from _triton_channel import METRIC, U32, text

FAMILY, NEW, INCREMENT, SET, OBSERVE, VALUE, RELEASE = range(7)
UPDATE = struct.Struct("<BId")
DOUBLE = struct.Struct("<d")

DELETED = ("Invalid metric operation as the corresponding 'MetricFamily' has been deleted. The 'MetricFamily' object "
           "should be deleted AFTER its corresponding 'Metric' objects have been deleted.")


class MetricKind(_base.Enum):
    COUNTER = 0
    GAUGE = 1
    HISTOGRAM = 2


def failed(prefix, cause):
    return TritonModelException(
        f"{prefix}: Failed to process the request for model '{_base.instance}', message: {cause}")


def question(body, prefix):
    try:
        return _base.host.question(METRIC, body)
    except RuntimeError as e:
        raise failed(prefix, e) from None


class Handle:
    """A family or a metric of the server. Its end releases it, unless it was deleted before."""

    __slots__ = ("number", "deleted")

    def __init__(self, number):
        self.number, self.deleted = int(number), False

    def __del__(self):
        self.delete()

    def delete(self):
        if not self.deleted:
            self.deleted = True
            if not _base.finalizing:
                _base.host.release_metric(self.number)


class MetricFamily:
    COUNTER, GAUGE, HISTOGRAM = MetricKind

    def __init__(self, name, description, kind):
        if not isinstance(name, str) or not isinstance(description, str) or not isinstance(kind, MetricKind):
            raise TypeError(
                "__init__(): incompatible constructor arguments. The following argument types are supported:\n"
                "    1. c_python_backend_utils.MetricFamily(name: str, description: str, kind: "
                f"c_python_backend_utils.MetricKind)\n\nInvoked with: {name!r}, {description!r}, {kind!r}")
        self._kind = kind
        number = question(bytes([FAMILY]) + text(name) + text(description) + bytes([kind]),
                          "Error when creating MetricFamily")
        self._handle = Handle(number)

    def __del__(self):
        handle = getattr(self, "_handle", None)
        if handle is not None:
            handle.delete()  # with its metrics, which cannot be changed from now on

    def Metric(self, labels=None, buckets=None):
        if labels is not None and not isinstance(labels, dict):
            raise TritonModelException("Failed to create metric. Labels must be a dictionary.")
        if buckets is not None and not isinstance(buckets, list):
            raise TritonModelException("Failed to create metric. Buckets must be a list.")
        if self._kind == MetricKind.HISTOGRAM and buckets is None:
            raise TritonModelException("Failed to create metric. Missing required buckets.")
        if self._kind != MetricKind.HISTOGRAM and buckets:
            raise TritonModelException("Failed to create metric. Unexpected buckets found.")
        bounds = [float(b) for b in buckets or ()]
        number = question(
            bytes([NEW]) + U32.pack(self._handle.number) + text(json.dumps(labels or {}))
            + U32.pack(len(bounds)) + b"".join(map(DOUBLE.pack, bounds)), "Error when creating Metric")
        return Metric(self._kind, self._handle, Handle(number))


class Metric:
    def __init__(self, kind, family, handle):
        self._kind, self._family, self._handle = kind, family, handle

    def _update(self, operation, value, prefix, method, kinds):
        if not hasattr(value, "__float__"):
            raise TypeError(f"{method.lower()}(): incompatible function arguments. The following argument types are "
                            "supported:\n    1. (self: c_python_backend_utils.Metric, value: float) -> None\n\n"
                            f"Invoked with: {value!r}")
        value = float(value)
        if self._family.deleted:
            raise TritonModelException(f"{prefix}: {DELETED}")
        kind = f"TRITONSERVER_METRIC_KIND_{self._kind.name}"
        if self._kind not in kinds:
            raise failed(prefix, f"{kind} does not support {method}")
        if operation == INCREMENT and self._kind == MetricKind.COUNTER and not value >= 0:
            raise failed(prefix, f"{kind} can only be incremented monotonically by non-negative values.")
        _base.host.post(METRIC, U32.pack(0) + UPDATE.pack(operation, self._handle.number, value))

    def increment(self, value):
        self._update(INCREMENT, value, "Failed to increment metric value", "Increment",
                     (MetricKind.COUNTER, MetricKind.GAUGE))

    def set(self, value):
        self._update(SET, value, "Failed to set metric value", "Set", (MetricKind.GAUGE,))

    def observe(self, value):
        self._update(OBSERVE, value, "Failed to observe metric value", "Observe", (MetricKind.HISTOGRAM,))

    def value(self):
        prefix = "Failed to get metric value"
        if self._family.deleted:
            raise TritonModelException(f"{prefix}: {DELETED}")
        return float(question(UPDATE.pack(VALUE, self._handle.number, 0), prefix))


_base.native(MetricFamily, Metric, MetricKind)
