"""Reads the models of the onnx package's backend tests and the inputs recorded with them."""

import dataclasses
import pathlib

import numpy
import onnx
from onnx import numpy_helper

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")

# ONNX element type -> data type of the v2 protocol. Types that are absent here have none.
DATA_TYPES = {
    1: "FP32", 2: "UINT8", 3: "INT8", 4: "UINT16", 5: "INT16", 6: "INT32", 7: "INT64", 8: "BYTES",
    9: "BOOL", 10: "FP16", 11: "FP64", 12: "UINT32", 13: "UINT64", 16: "BF16",
}


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A named tensor in the form of the wire: elements row by row, strings after their length."""

    name: str
    data_type: str
    shape: tuple
    raw: bytes


@dataclasses.dataclass
class Case:
    """A model and its inputs, one list of tensors for each recorded data set."""

    name: str
    kind: str
    path: pathlib.Path
    sets: list


def strings(values):
    """Encodes strings as the protocol does: each behind its length, 4 bytes, little-endian."""
    out = bytearray()
    for v in values:
        v = v.encode() if isinstance(v, str) else bytes(v)
        out += len(v).to_bytes(4, "little") + v
    return bytes(out)


def tensor(name, proto):
    """Converts a TensorProto, or returns None when the protocol has no type for its elements."""
    data_type = DATA_TYPES.get(proto.data_type)
    if data_type is None:
        return None
    if data_type == "BYTES":
        raw = strings(proto.string_data)
        return Tensor(name, data_type, tuple(proto.dims), raw)
    array = numpy.ascontiguousarray(numpy_helper.to_array(proto))
    return Tensor(name, data_type, tuple(proto.dims), array.tobytes())


def recorded(model, folder):
    """Returns the recorded inputs of one data set, None when one of them is no tensor of the protocol."""
    tensors = []
    for i, value in enumerate(model.graph.input):
        file = folder / f"input_{i}.pb"
        if not file.exists():
            continue
        if value.type.WhichOneof("value") != "tensor_type":
            return None
        t = tensor(value.name, onnx.load_tensor(str(file)))
        if t is None:
            return None
        tensors.append(t)
    return tensors


def ones(model):
    """Returns inputs of ones, for models without recorded ones."""
    weights = {w.name for w in model.graph.initializer}
    tensors = []
    for value in model.graph.input:
        if value.name in weights:
            continue
        shape = [d.dim_value or 1 for d in value.type.tensor_type.shape.dim]
        array = numpy.ones(shape, onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type))
        tensors.append(tensor(value.name, numpy_helper.from_array(array)))
    return tensors


def find():
    """Returns the cases of the installed onnx package, in the order of their names."""
    data = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data"
    cases = []
    for kind in KINDS:
        for folder in sorted((data / kind).iterdir()):
            path = folder / "model.onnx"
            if path.exists():
                model = onnx.load(str(path), load_external_data=False)
                sets = [recorded(model, s) for s in sorted(folder.glob("test_data_set_*"))]
                cases.append(Case(folder.name, kind, path, [s for s in sets if s is not None]))
    for path in sorted((data / "light").glob("*.onnx")):
        cases.append(Case(path.stem, "light", path, [ones(onnx.load(str(path)))]))
    return sorted(cases, key=lambda c: c.name)


def repository(cases, folder):
    """Writes a model repository of links to the cases' files, without any configuration."""
    for case in cases:
        version = folder / case.name / "1"
        version.mkdir(parents=True)
        for file in case.path.parent.iterdir():
            if file.is_file() and (file == case.path or case.kind != "light" and file.suffix != ".json"):
                (version / ("model.onnx" if file == case.path else file.name)).symlink_to(file)
