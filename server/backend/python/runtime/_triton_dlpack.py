"""DLPack capsules, made and read without native code."""

import ctypes
import sys
from _socket import CAPI

import numpy

from _triton_base import TritonModelException

CPU, CUDA, CUDA_HOST = 1, 2, 3
INT, UINT, FLOAT, BFLOAT, BOOL = 0, 1, 2, 4, 6
TO_TRITON = {
    (BOOL, 8): 1, (UINT, 8): 2, (UINT, 16): 3, (UINT, 32): 4, (UINT, 64): 5, (INT, 8): 6, (INT, 16): 7, (INT, 32): 8,
    (INT, 64): 9, (FLOAT, 16): 10, (FLOAT, 32): 11, (FLOAT, 64): 12, (BFLOAT, 16): 14,
}
FROM_TRITON = {code: kind for kind, code in TO_TRITON.items()}

FRESH, USED = b"dltensor", b"used_dltensor"  # the standard names; with another one numpy crashes


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64)]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class DLManagedTensor(ctypes.Structure):
    _fields_ = [("dl_tensor", DLTensor), ("manager_ctx", ctypes.c_void_p), ("deleter", Deleter)]


def _function(name, result, *arguments):
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_pointer = _function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_set_name = _function("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)

Capsule = type(CAPI)


class _Slot:
    """Memory, as numpy sees it. Every array over it keeps its owner alive."""

    __slots__ = ("__array_interface__", "owner")


def array_over(address, dtype, shape, owner):
    """An array over memory that owner keeps."""
    if 0 in shape:
        return numpy.empty(shape, dtype)
    slot = _Slot()
    slot.owner = owner
    slot.__array_interface__ = {
        "version": 3, "shape": shape, "typestr": numpy.dtype(dtype).str, "data": (address, False)}
    return numpy.asarray(slot)


def _tensor(capsule):
    """The structure that a capsule points to."""
    return DLManagedTensor.from_address(_pointer(capsule, FRESH))


def export(address, dtype, shape, keep):
    """Returns a capsule over memory that keep keeps. numpy makes it, because a destructor in Python would lose the
    exception that ends the use of a capsule, such as that of a package that does not know the data type."""
    code, bits = FROM_TRITON[dtype]
    capsule = array_over(address, f"u{bits // 8}", shape, keep).__dlpack__()
    t = _tensor(capsule).dl_tensor
    t.code, t.bits = code, bits
    return capsule


class Imported:
    """Memory of a capsule that was used. Its end calls the deleter."""

    def __init__(self, managed):
        self.managed = managed

    def __del__(self):
        if self.managed.deleter:
            self.managed.deleter(ctypes.addressof(self.managed))


def on_host(obj):
    """The object itself, or a copy in the memory of the CPU if it is on a GPU: a tensor, an array or a capsule. The
    package that the object belongs to makes the copy, in the order of its stream."""
    if isinstance(obj, Capsule):
        return obj if _tensor(obj).dl_tensor.device_type != CUDA else _capsule_on_host(obj)
    if not hasattr(obj, "__dlpack__") or not hasattr(obj, "__dlpack_device__") or obj.__dlpack_device__()[0] != CUDA:
        return obj
    for copy in ("cpu", "get"):  # of torch and others, and of cupy
        if callable(getattr(obj, copy, None)):
            return getattr(obj, copy)()
    try:
        return obj.__dlpack__(dl_device=(CPU, 0))  # DLPack 1.0, such as of jax
    except (TypeError, BufferError, ValueError):
        return obj


# What takes a capsule and copies it to the memory of the CPU, by the name of the package.
_TAKERS = {
    "torch": lambda torch, capsule: torch.utils.dlpack.from_dlpack(capsule).cpu(),
    "cupy": lambda cupy, capsule: cupy.fromDlpack(capsule).get(),
    "tensorflow": lambda tf, capsule: tf.experimental.dlpack.from_dlpack(capsule).numpy(),
}


def _capsule_on_host(capsule):
    """A copy of a tensor on a GPU, of which only the capsule is known: one of the packages that the model uses takes
    it."""
    for name, take in _TAKERS.items():
        if name in sys.modules:
            return take(sys.modules[name], capsule)
    return capsule


def capsule_of(obj):
    """The capsule of an object that supports DLPack."""
    if isinstance(obj, Capsule):
        return obj
    if not hasattr(obj, "__dlpack__") or not hasattr(obj, "__dlpack_device__"):
        raise TritonModelException(
            "Provided tensor is not supported. Tensor must be a DLPack capsule         or have `__dlpack__` and "
            "`__dlpack_device__` attributes")
    check_device(obj.__dlpack_device__()[0])
    return obj.__dlpack__(stream=None)


def check_device(device):
    if device == CUDA:
        raise TritonModelException(
            "DLPack capsule passed pointer to memory allocated on GPU device,           when GPU is not available: "
            "pass a tensor that can copy itself to the CPU, as those of torch and cupy can")
    if device not in (CPU, CUDA_HOST):
        raise TritonModelException(f"DLDevice type {device} is not support by Python backend.")


def consume(capsule):
    """Takes over the memory of a capsule: its address, Triton's data type, the shape and the owner."""
    managed = _tensor(capsule)
    t = managed.dl_tensor
    shape = tuple(t.shape[i] for i in range(t.ndim))
    if t.strides and not contiguous(shape, t.strides):
        raise TritonModelException("DLPack tensor is not contiguous. Only contiguous DLPack tensors that are stored in "
                                   "C-Order are supported.")
    check_device(t.device_type)
    if t.code == BFLOAT and t.bits != 16:
        raise TritonModelException(f"Expected BF16 tensor to have 16 bits, but had: {t.bits}")
    dtype = TO_TRITON.get((t.code, t.bits)) if t.lanes == 1 else None
    if dtype is None:
        raise TritonModelException(f'DType code "{t.code}" is not supported.')
    _set_name(capsule, USED)
    return (t.data or 0) + t.byte_offset, dtype, shape, Imported(managed)


def contiguous(shape, strides):
    if 0 in shape:
        return True  # numpy 2 gives such arrays strides of 0
    stride = 1
    for i in reversed(range(len(shape))):
        if shape[i] != 1:
            if strides[i] != stride:
                return False
            stride *= shape[i]
    return True
