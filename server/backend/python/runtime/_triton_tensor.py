"""Tensor."""

import struct

import numpy

import _triton_base as _base
import _triton_dlpack as _dlpack
from _triton_base import TritonModelException, to_str
from _triton_channel import INLINE, PLACE, SMALL, TENSOR, text
from _triton_memory import Block

_BYTES = 13
_BF16 = 14
_NUMPY = {
    1: numpy.bool_, 2: numpy.uint8, 3: numpy.uint16, 4: numpy.uint32, 5: numpy.uint64,
    6: numpy.int8, 7: numpy.int16, 8: numpy.int32, 9: numpy.int64, 10: numpy.float16,
    11: numpy.float32, 12: numpy.float64, 13: numpy.object_,
}
_STRINGS = "SUT"  # the kinds of bytes, text of one length and text of any length
_CODES = {numpy.dtype(t): code for code, t in _NUMPY.items()}


_HEADS = 1024  # how many names, data types and shapes are kept as frames have them
_heads = {}


class _View(numpy.ndarray):
    """The first array over a block. Every array over it keeps the block."""

    __slots__ = ("block", "at")


class Tensor:
    __slots__ = ("_name", "_dtype", "_shape", "_array", "_data", "_block", "_at", "__weakref__")

    def __init__(self, name, array):
        name = to_str(name)
        if not isinstance(name, str) or not isinstance(array, numpy.ndarray):
            raise TypeError(
                "__init__(): incompatible constructor arguments. The following argument types are supported:\n"
                "    1. c_python_backend_utils.Tensor(arg0: str, arg1: numpy.ndarray)\n\n"
                f"Invoked with: {name!r}, {array!r}")
        if name == "":
            raise TritonModelException("Tensor name cannot be an empty string.")
        code = _CODES.get(array.dtype) or array.dtype.kind in _STRINGS and _BYTES
        if not code:
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
    def _input(cls, name, dtype, shape, memory, at):
        """A tensor of the server. Its bytes are in a block, or in a frame: memory is a bytearray then."""
        t = cls.__new__(cls)
        t._name, t._dtype, t._shape, t._block, t._at = name, dtype, shape, memory, at
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
        if self._dtype == _BF16:
            raise TritonModelException(
                "Tensor dtype is BF16 and cannot be converted to NumPy. Use to_dlpack() and from_dlpack() instead.")
        if self._dtype == _BYTES:
            return _deserialize(self._raw()).reshape(self._shape)
        return self._over(_NUMPY[self._dtype])

    def _over(self, dtype):
        """An array over the memory of a tensor of the server."""
        offset, size = self._at
        if size == 0:
            return numpy.empty(self._shape, dtype)
        memory = self._block
        if type(memory) is bytearray:
            return numpy.ndarray(self._shape, dtype, memory, offset)
        region = _base.host.regions.find(offset, size)
        view = numpy.ndarray.__new__(_View, self._shape, dtype, region.mmap, offset - region.base)
        view.block, view.at = memory, offset
        return view.view(numpy.ndarray)

    def _raw(self):
        """The bytes of a tensor of the server."""
        offset, size = self._at
        if size == 0:
            return b""
        if type(self._block) is bytearray:
            return bytes(memoryview(self._block)[offset:offset + size])
        return _base.host.bytes(offset, size)

    def _payload(self):
        """What is copied into the response: bytes or an array in C order."""
        if self._data is not None:
            return self._data
        if self._array is None:
            return self._raw()
        if self._dtype == _BYTES:
            return _serialize(self._array)  # the model may have written to it
        return self._array

    def _head(self):
        """Name, data type and shape, as frames have them."""
        key = self._name, self._dtype, self._shape
        head = _heads.get(key)
        if head is None:
            if len(_heads) >= _HEADS:
                _heads.clear()
            rank = len(self._shape)
            head = _heads[key] = text(self._name) + TENSOR.pack(self._dtype, rank) + struct.pack(f"<{rank}q", *self._shape)
        return head

    def _encode(self, parts, large):
        """Appends the tensor to the parts of a frame. The place of a large one is None, and large gets a list of its
        index in the parts, its size, what to copy, and the block and the offset where the server can read it."""
        parts.append(self._head())
        block, at = None, 0
        if self._data is None and self._array is not None and self._dtype != _BYTES:
            payload = self._array
            n = payload.nbytes
            if n <= SMALL:
                parts.append(PLACE.pack(INLINE, 0, n))
                parts.append(payload.tobytes())
                return
            block, at = _origin(payload)
        elif self._data is None and self._array is None and self._at[1] > SMALL and type(self._block) is Block:
            payload, block, (at, n) = None, self._block, self._at
        else:
            payload = self._payload()
            n = payload.nbytes if type(payload) is numpy.ndarray else len(payload)
            if n <= SMALL:
                parts.append(PLACE.pack(INLINE, 0, n))
                parts.append(payload if type(payload) is bytes else payload.tobytes())
                return
        large.append([len(parts), n, payload, block, at])
        parts.append(None)

    def to_dlpack(self):
        """A capsule over the tensor's memory. It keeps the tensor, as models see in its reference count."""
        if self._dtype == _BYTES:
            raise TritonModelException("DLPack does not have support for string tensors.")
        if self._dtype != _BF16:
            array = self.as_numpy()
            return _dlpack.export(array.ctypes.data, self._dtype, self._shape, self)
        if self._data is not None:
            return _dlpack.export(self._data.ctypes.data, _BF16, self._shape, self)
        array = self._over(numpy.uint16)
        return _dlpack.export(array.ctypes.data, _BF16, self._shape, (array, self))

    @staticmethod
    def from_dlpack(name, obj):
        name = to_str(name)
        if not isinstance(name, str):
            raise TypeError("from_dlpack(): incompatible function arguments. The following argument types are supported:\n"
                            "    1. (arg0: str, arg1: object) -> c_python_backend_utils.Tensor\n\n"
                            f"Invoked with: {name!r}, {obj!r}")
        if name == "":
            raise TritonModelException("Tensor name cannot be an empty string.")
        host = _dlpack.on_host(obj)
        if host is not obj and isinstance(host, numpy.ndarray):
            return Tensor(name, host)
        address, dtype, shape, owner = _dlpack.consume(_dlpack.capsule_of(host))
        array = _dlpack.array_over(address, numpy.uint16 if dtype == _BF16 else _NUMPY[dtype], shape, owner)
        t = Tensor._input(name, dtype, shape, None, None)
        if dtype == _BF16:
            t._data = array
        else:
            t._array = array
        return t

    def __dlpack__(self, stream=None, max_version=None, dl_device=None, copy=None):
        if dl_device is not None and tuple(dl_device) != (_dlpack.CPU, 0):
            raise BufferError(f"the tensor is in the memory of the CPU and is not copied to the device {dl_device}")
        return self._copied().to_dlpack() if copy else self.to_dlpack()

    def _copied(self):
        """The same tensor in memory of its own."""
        t = Tensor._input(self._name, self._dtype, self._shape, None, None)
        if self._dtype == _BF16:
            t._data = numpy.frombuffer(bytearray(self._payload()), numpy.uint16)
        else:
            t._array = self.as_numpy().copy()
        return t

    def __dlpack_device__(self):
        return (1, 0)


def _origin(array):
    """The block that an array is a view of, and its offset in the memory file."""
    base = array.base
    while type(base) is numpy.ndarray:
        base = base.base
    if type(base) is not _View or not array.flags.c_contiguous:
        return None, 0
    start = _address(array) - _address(base)
    if start < 0 or start + array.nbytes > base.nbytes:
        return None, 0
    return base.block, base.at + start


def _address(array):
    return array.__array_interface__["data"][0]


_base.native(Tensor)


def _serialize(array):
    """The elements of an array of objects, text or bytes, each behind its length."""
    parts = []
    objects = array.dtype.kind != "S"
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
