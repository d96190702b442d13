"""Runs models in ONNX Runtime alone, without a server: through its own Python package."""

import ctypes

import numpy
import onnxruntime

from cases import DATA_TYPES, Tensor, strings

NUMPY = {
    "FP32": numpy.float32, "UINT8": numpy.uint8, "INT8": numpy.int8, "UINT16": numpy.uint16, "INT16": numpy.int16,
    "INT32": numpy.int32, "INT64": numpy.int64, "BOOL": numpy.bool_, "FP16": numpy.float16, "FP64": numpy.float64,
    "UINT32": numpy.uint32, "UINT64": numpy.uint64,
}
BF16 = 16


def unpack(raw):
    """Decodes strings of the protocol."""
    values, at = [], 0
    while at < len(raw):
        n = int.from_bytes(raw[at : at + 4], "little")
        values.append(raw[at + 4 : at + 4 + n].decode())
        at += 4 + n
    return values


def to_numpy(t):
    if t.data_type == "BYTES":
        return numpy.array(unpack(t.raw), dtype=object).reshape(t.shape)
    return numpy.frombuffer(t.raw, NUMPY[t.data_type]).reshape(t.shape).copy()


def to_ort_value(t):
    make = onnxruntime.OrtValue
    if t.data_type == "BF16":
        array = numpy.frombuffer(t.raw, numpy.uint16).reshape(t.shape)
        return make.ortvalue_from_numpy_with_onnx_type(array, BF16)
    return make.ortvalue_from_numpy(to_numpy(t))


def from_ort_value(name, value):
    if not value.is_tensor():
        return None
    data_type = DATA_TYPES.get(value.element_type())
    shape = tuple(value.shape())
    if data_type is None:
        return None
    if data_type == "BYTES":
        return Tensor(name, data_type, shape, strings(value.numpy().reshape(-1)))
    size = value.tensor_size_in_bytes()
    return Tensor(name, data_type, shape, ctypes.string_at(value.data_ptr(), size) if size else b"")


def from_numpy(name, array):
    if array.dtype == object:
        return Tensor(name, "BYTES", array.shape, strings(array.reshape(-1)))
    data_type = next((k for k, v in NUMPY.items() if array.dtype == v), None)
    return Tensor(name, data_type, array.shape, numpy.ascontiguousarray(array).tobytes()) if data_type else None


class Model:
    """One opened model. The constructor raises ONNX Runtime's error."""

    def __init__(self, path, threads):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def infer(self, tensors):
        """Returns the outputs by name; raises ONNX Runtime's error."""
        names = [o.name for o in self.session.get_outputs()]
        if any(t.data_type == "BYTES" for t in tensors):  # the other call has no strings as inputs
            values = self.session.run(names, {t.name: to_numpy(t) for t in tensors})
            return {n: from_numpy(n, v) for n, v in zip(names, values)}
        feeds = {t.name: to_ort_value(t) for t in tensors}
        values = self.session.run_with_ort_values(names, feeds)
        return {n: from_ort_value(n, v) for n, v in zip(names, values)}
