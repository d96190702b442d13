"""Every type of tensor there and back."""

import numpy as np
from harness import both, httpclient, tensor

try:
    from ml_dtypes import bfloat16  # what the client takes since 26.06
except ImportError:
    bfloat16 = np.float32

NUMBERS = {
    "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64,
    "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64,
    "fp16": np.float16, "fp32": np.float32, "fp64": np.float64, "bool": np.bool_,
}  # fmt: skip


def identity(module, client, kind, array, datatype, **kwargs):
    return client.infer("identity_" + kind, [tensor(module, "INPUT0", array, datatype, **kwargs)]).as_numpy("OUTPUT0")


@both
def every_number_type_comes_back(module, client):
    rng = np.random.default_rng(7)
    for kind, dtype in NUMBERS.items():
        raw = rng.integers(0, 2 if kind == "bool" else 255, size=(2, 24), dtype=np.uint8)
        array = raw.astype(dtype)
        got = identity(module, client, kind, array, kind.upper())
        assert got.dtype == array.dtype and (got == array).all(), kind


@both
def limits_of_integers_come_back(module, client):
    for kind, dtype in NUMBERS.items():
        if "int" not in kind:
            continue
        info = np.iinfo(dtype)
        array = np.array([[info.min, info.max, 0]], dtype=dtype)
        assert (identity(module, client, kind, array, kind.upper()) == array).all(), kind
        if module is httpclient:
            assert (identity(module, client, kind, array, kind.upper(), binary_data=False) == array).all(), kind + " as JSON"


@both
def numbers_that_are_none_come_back(module, client):
    for kind, dtype in (("fp16", np.float16), ("fp32", np.float32), ("fp64", np.float64)):
        array = np.array([[np.nan, np.inf, -np.inf, -0.0, np.finfo(dtype).tiny, np.finfo(dtype).max]], dtype=dtype)
        assert identity(module, client, kind, array, kind.upper()).tobytes() == array.tobytes(), kind


@both
def bf16_comes_back(module, client):
    array = np.array([[1.0, -2.5, 0.0, 65536.0]], dtype=bfloat16)
    got = identity(module, client, "bf16", array, "BF16")
    assert got.dtype == array.dtype and (got == array).all(), got


@both
def strings_come_back_whole(module, client):
    array = np.array([["", "a\0b", "żółw", "x" * 5000]], dtype=np.object_)
    got = identity(module, client, "string", array, "BYTES")
    assert [x.decode() for x in got.flatten()] == list(array.flatten()), got
    binary = np.array([[b"\xff\xfe\x00", b"\x80"]], dtype=np.object_)
    got = identity(module, client, "string", binary, "BYTES")
    assert list(got.flatten()) == list(binary.flatten()), got


@both
def many_strings(module, client):
    array = np.array([[f"text {i}" for i in range(20000)]], dtype=np.object_)
    got = identity(module, client, "string", array, "BYTES")
    assert [x.decode() for x in got.flatten()] == list(array.flatten())


@both
def simple_string(module, client):
    a = np.array([str(i) for i in range(16)], dtype=np.object_).reshape(1, 16)
    b = np.array(["1"] * 16, dtype=np.object_).reshape(1, 16)
    r = client.infer("simple_string", [tensor(module, "INPUT0", a, "BYTES"), tensor(module, "INPUT1", b, "BYTES")])
    assert [int(x) for x in r.as_numpy("OUTPUT0").flatten()] == [i + 1 for i in range(16)]
    assert [int(x) for x in r.as_numpy("OUTPUT1").flatten()] == [i - 1 for i in range(16)]


@both
def large_tensors(module, client):
    array = np.arange(2_000_000, dtype=np.float32).reshape(2, -1)
    assert (identity(module, client, "fp32", array, "FP32") == array).all()


@both
def empty_tensors(module, client):
    array = np.zeros((1, 0), dtype=np.float32)
    got = identity(module, client, "fp32", array, "FP32")
    assert got is None or got.size == 0, got
