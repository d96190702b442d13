"""The backend "openvino": models in OpenVINO's IR, ONNX files and what else it reads."""

import _triton_framework as framework
import numpy as np

PROPERTIES = ("PERFORMANCE_HINT", "INFERENCE_NUM_THREADS", "COMPILATION_NUM_THREADS", "NUM_STREAMS")
TYPES = {
    "boolean": "TYPE_BOOL", "u8": "TYPE_UINT8", "u16": "TYPE_UINT16", "u32": "TYPE_UINT32", "u64": "TYPE_UINT64",
    "i8": "TYPE_INT8", "i16": "TYPE_INT16", "i32": "TYPE_INT32", "i64": "TYPE_INT64", "f16": "TYPE_FP16",
    "f32": "TYPE_FP32", "f64": "TYPE_FP64", "string": "TYPE_STRING",
}


def read(config):
    openvino = framework.need("openvino", "openvino", "openvino")
    core = openvino.Core()
    extension = framework.parameter(config, "CPU_EXTENSION_PATH")
    if extension:
        core.add_extension(extension)
    return core, core.read_model(framework.model_path(config, "model.xml", "model.onnx"))


def name_of(port, kind, index):
    names = sorted(port.get_names())
    return names[0] if names else f"{kind}_{index}"


def shape_of(port):
    shape = port.get_partial_shape()
    if shape.rank.is_dynamic:
        return [-1]
    return [-1 if d.is_dynamic else d.get_length() for d in shape]


def plain(array):
    """The array as OpenVINO takes it."""
    return array.astype(np.bytes_) if array.dtype == np.object_ else np.ascontiguousarray(array)


class TritonPythonModel(framework.FrameworkModel):
    @staticmethod
    def auto_complete_config(config):
        c = config.as_dict()
        if c.get("input") and c.get("output"):
            return config
        _, model = read(c)
        tensors = [[(name_of(p, kind, i), TYPES.get(p.get_element_type().get_type_name(), "TYPE_INVALID"), shape_of(p))
                    for i, p in enumerate(ports)] for kind, ports in (("input", model.inputs), ("output", model.outputs))]
        batchable = all(shape[:1] == [-1] for ports in tensors for _, _, shape in ports)
        return framework.complete(config, *tensors, batchable)

    def open(self):
        core, model = read(self.config)
        if framework.flag(self.config, "RESHAPE_IO_LAYERS"):
            batch = [-1] if self.batches else []
            model.reshape({t["name"]: batch + [int(d) for d in t["dims"]] for t in self.config["input"]})
        elif self.batches and not framework.flag(self.config, "SKIP_OV_DYNAMIC_BATCHSIZE"):
            shapes = {p: [-1] + shape_of(p)[1:] for p in model.inputs}
            if any(shape_of(p)[0] != -1 for p in model.inputs):
                model.reshape(shapes)
        properties = {key: framework.parameter(self.config, key) for key in PROPERTIES if framework.parameter(self.config, key)}
        if framework.flag(self.config, "HINT_BF16"):
            properties["INFERENCE_PRECISION_HINT"] = "bf16"
        device = framework.parameter(self.config, "TARGET_DEVICE", f"GPU.{self.device}" if self.gpu else "CPU")
        compiled = core.compile_model(model, device, properties)
        self.ports = [(i, frozenset(p.get_names()) | {name_of(p, "output", i)}) for i, p in enumerate(compiled.outputs)]
        self.places = {n: i for i, p in enumerate(compiled.inputs) for n in p.get_names() | {name_of(p, "input", i)}}
        self.request = compiled.create_infer_request()

    def run(self, inputs):
        unknown = [name for name in inputs if name not in self.places]
        if unknown:
            raise framework.PlainError(f"the model has no input '{unknown[0]}': its inputs are {', '.join(sorted(self.places))}")
        results = self.request.infer({self.places[n]: plain(a) for n, a in inputs.items()}, share_inputs=True)
        arrays = list(results.values())
        return {name: np.array(arrays[i]) for i, names in self.ports for name in names}
