"""The module that model.py imports, customarily as pb_utils."""

import json
import struct

import numpy as np

from c_python_backend_utils import *  # noqa: F401,F403

TRITONSERVER_REQUEST_FLAG_SEQUENCE_START = 1
TRITONSERVER_REQUEST_FLAG_SEQUENCE_END = 2
TRITONSERVER_RESPONSE_COMPLETE_FINAL = 1
TRITONSERVER_REQUEST_RELEASE_ALL = 1
TRITONSERVER_REQUEST_RELEASE_RESCHEDULE = 2

TRITON_STRING_TO_NUMPY = {
    "TYPE_BOOL": bool, "TYPE_UINT8": np.uint8, "TYPE_UINT16": np.uint16, "TYPE_UINT32": np.uint32,
    "TYPE_UINT64": np.uint64, "TYPE_INT8": np.int8, "TYPE_INT16": np.int16, "TYPE_INT32": np.int32,
    "TYPE_INT64": np.int64, "TYPE_FP16": np.float16, "TYPE_FP32": np.float32, "TYPE_FP64": np.float64,
    "TYPE_STRING": np.object_,
}

_TRITON_TO_NUMPY = dict(enumerate(
    (np.bool_, np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int16, np.int32, np.int64, np.float16,
     np.float32, np.float64, np.object_), 1))
_NUMPY_TO_TRITON = {t: code for code, t in _TRITON_TO_NUMPY.items()}
_NUMPY_TO_TRITON[np.bytes_] = 13
_DTYPE_TO_TRITON = {np.dtype(t): code for code, t in _TRITON_TO_NUMPY.items()}


def triton_string_to_numpy(triton_type_string):
    return TRITON_STRING_TO_NUMPY[triton_type_string]


def triton_to_numpy_type(data_type):
    return _TRITON_TO_NUMPY.get(data_type)


def numpy_to_triton_type(data_type):
    return _NUMPY_TO_TRITON.get(data_type) or _DTYPE_TO_TRITON.get(data_type)


def serialize_byte_tensor(input_tensor):
    if input_tensor.size == 0:
        return ()
    if input_tensor.dtype != np.object_ and input_tensor.dtype.type != np.bytes_:
        return None
    parts = []
    for element in input_tensor.ravel().tolist():
        if input_tensor.dtype == np.object_ and type(element) is not bytes:
            element = str(element).encode("utf-8")
        parts.append(len(element).to_bytes(4, "little"))
        parts.append(element)
    return b"".join(parts)


def deserialize_bytes_tensor(encoded_tensor):
    elements, at = [], 0
    while at < len(encoded_tensor):
        n, = struct.unpack_from("<I", encoded_tensor, at)
        elements += struct.unpack_from(f"<{n}s", encoded_tensor, at + 4)
        at += 4 + n
    array = np.empty(len(elements), dtype=np.object_)
    array[:] = elements
    return array


def get_input_tensor_by_name(inference_request, name):
    for t in inference_request.inputs():
        if t.name() == name:
            return t
    return None


def get_output_tensor_by_name(inference_response, name):
    for t in inference_response.output_tensors():
        if t.name() == name:
            return t
    return None


def get_input_config_by_name(model_config, name):
    for entry in model_config.get("input", ()):
        if entry["name"] == name:
            return entry
    return None


def get_output_config_by_name(model_config, name):
    for entry in model_config.get("output", ()):
        if entry["name"] == name:
            return entry
    return None


def using_decoupled_model_transaction_policy(model_config):
    return model_config.get("model_transaction_policy", {}).get("decoupled", False)


class ModelConfig:
    """The configuration that auto_complete_config completes."""

    def __init__(self, model_config):
        self._model_config = json.loads(model_config)

    def as_dict(self):
        return self._model_config

    def _name(self):
        return self._model_config["name"]

    def set_max_batch_size(self, max_batch_size):
        configured = self._model_config.get("max_batch_size", 0)
        if configured > max_batch_size:
            raise ValueError(
                f"configuration specified max_batch_size {configured}, but in auto-complete-config function for "
                f"model '{self._name()}' specified max_batch_size {max_batch_size}")
        self._model_config["max_batch_size"] = max_batch_size

    def set_dynamic_batching(self):
        for other in ("sequence_batching", "ensemble_scheduling"):
            if other in self._model_config:
                raise ValueError(
                    f"Configuration specified scheduling_choice as '{other}', but auto-complete-config function for "
                    f"model '{self._name()}' tries to set scheduling_choice as 'dynamic_batching'")
        self._model_config.setdefault("dynamic_batching", {})

    def add_input(self, input):
        self._add("input", input, ("name", "data_type", "dims", "optional"),
                  "'name', 'data_type', 'dims' and 'optional'")

    def add_output(self, output):
        self._add("output", output, ("name", "data_type", "dims"), "'name', 'data_type' and 'dims'")

    def set_model_transaction_policy(self, transaction_policy_dict):
        for key in transaction_policy_dict:
            if key != "decoupled":
                raise ValueError(
                    f"model transaction property in auto-complete-config function for model '{self._name()}' "
                    "contains property other than 'decoupled'.")
        policy = self._model_config.setdefault("model_transaction_policy", {})
        wanted = transaction_policy_dict.get("decoupled")
        if wanted is None:
            return
        if "decoupled" in policy and policy["decoupled"] != wanted:
            raise ValueError(
                f"trying to change decoupled property in auto-complete-config for model '{self._name()}', which is "
                f"already set to '{policy['decoupled']}'.")
        policy["decoupled"] = wanted

    def _add(self, kind, entry, allowed, listed):
        model = self._name()
        where = f"in auto-complete-config function for model '{model}'"
        for key in entry:
            if key not in allowed:
                raise ValueError(f"{kind} '{entry.get('name', '')}' {where} contains property other than {listed}.")
        if "name" not in entry:
            raise ValueError(f"{kind} {where} is missing 'name' property.")
        name = entry["name"]
        for key in ("data_type", "dims"):
            if key not in entry:
                raise ValueError(f"{kind} '{name}' {where} is missing '{key}' property.")
        configured = self._model_config.setdefault(kind, [])
        for old in configured:
            if old["name"] == name:
                self._merge(kind, old, entry)
                return
        configured.append({key: entry[key] for key in allowed if key in entry})

    def _merge(self, kind, old, entry):
        model, name = self._name(), entry["name"]
        data_type = old.get("data_type", "TYPE_INVALID")
        if data_type not in ("TYPE_INVALID", entry["data_type"]):
            raise ValueError(
                f"unable to load model '{model}', configuration expects datatype {data_type} for {kind} '{name}', "
                f"model provides {entry['data_type']}")
        dims = old.get("dims")
        if dims and dims != entry["dims"]:
            raise ValueError(
                f"model '{model}', tensor '{name}': the model expects dims {entry['dims']} but the model "
                f"configuration specifies dims {dims}")
        if "optional" in entry and "optional" in old and old["optional"] != entry["optional"]:
            raise ValueError(
                f"model '{model}', tensor '{name}': the model expects optional {entry['optional']} but the model "
                f"configuration specifies optional {old['optional']}")
        old.update(entry)
