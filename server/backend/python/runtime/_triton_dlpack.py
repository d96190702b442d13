"""DLPack capsules, made and read without native code."""

import ctypes

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
Destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


class DLManagedTensor(ctypes.Structure):
    _fields_ = [("dl_tensor", DLTensor), ("manager_ctx", ctypes.c_void_p), ("deleter", Deleter)]


def _function(name, result, *arguments):
    """A function of the interpreter; it takes a capsule that is being destroyed as an address."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_new = _function("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, Destructor)
_is_valid = _function("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_pointer = _function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
_set_name = _function("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)

Capsule = type(_new(1, b"type", Destructor()))

_exported = {}  # by the address of a structure: what it needs until its deleter is called


@Deleter
def _delete(address):
    _exported.pop(address, None)


@Destructor
def _destroy(capsule):
    """Ends a capsule that was not used."""
    if _is_valid(capsule, FRESH):
        _exported.pop(_pointer(capsule, FRESH), None)


def export(address, dtype, shape, keep):
    """Returns a capsule over memory that keep keeps."""
    managed = DLManagedTensor()
    dims = (ctypes.c_int64 * len(shape))(*shape)
    t = managed.dl_tensor
    t.data, t.device_type, t.ndim, t.lanes = address, CPU, len(shape), 1
    t.code, t.bits = FROM_TRITON[dtype]
    t.shape = ctypes.cast(dims, ctypes.POINTER(ctypes.c_int64))
    managed.deleter = _delete
    at = ctypes.addressof(managed)
    _exported[at] = managed, dims, keep
    return _new(at, FRESH, _destroy)


class Imported:
    """Memory of a capsule that was used. Its end calls the deleter."""

    def __init__(self, managed):
        self.managed = managed

    def __del__(self):
        if self.managed.deleter:
            self.managed.deleter(ctypes.addressof(self.managed))


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
            "DLPack capsule passed pointer to memory allocated on GPU device,           when GPU is not available")
    if device not in (CPU, CUDA_HOST):
        raise TritonModelException(f"DLDevice type {device} is not support by Python backend.")


def consume(capsule):
    """Takes over the memory of a capsule: its address, Triton's data type, the shape and the owner."""
    managed = DLManagedTensor.from_address(_pointer(id(capsule), FRESH))
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
