"""What the backends in this folder share: batches of requests, outputs that fit the
configuration, missing packages and auto-completion."""

import importlib
import json
import os
import sys

import numpy as np
import triton_python_backend_utils as pb_utils

DEFAULT_BATCH = 4  # default-max-batch-size


class PlainError(Exception):
    """An error whose text is for users: it is reported without a traceback."""

    triton_plain = True


def need(module, package, backend):
    """Imports a module of a package that users install."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as e:
        if (e.name or "").partition(".")[0] != module.partition(".")[0]:
            raise
        raise PlainError(
            f"the {backend} backend needs the Python package {package}, which {sys.executable} does not have: "
            f"run \"{sys.executable} -m pip install {package}\", or name another interpreter with EXECUTION_ENV_PATH or "
            "--backend-config=python,python-executable=<path>") from None


def parameter(config, key, default=""):
    """The value of a parameter of the configuration."""
    return config.get("parameters", {}).get(key, {}).get("string_value", default)


def flag(config, key, default=False):
    text = parameter(config, key).strip().lower()
    return text in ("1", "true", "yes") if text else default


def model_path(config, *names):
    """The path of the model file: the configured one, else the first that exists."""
    folder = pb_utils.get_model_dir()
    name = config.get("default_model_filename", "")
    if name:
        names = (os.path.basename(name),)
    for name in names:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
    raise PlainError(f"there is no model file in {folder}: looked for {', '.join(names)}")


class FrameworkModel:
    """A model of a framework. Subclasses define open() and run()."""

    def initialize(self, args):
        self.config = json.loads(args["model_config"])
        self.batches = self.config["max_batch_size"] > 0
        self.inputs = [t["name"] for t in self.config["input"]]
        self.outputs = self.config["output"]
        self.gpu = args["model_instance_kind"] == "GPU"
        self.device = int(args["model_instance_device_id"])
        self.open()

    def open(self):
        raise NotImplementedError

    def run(self, inputs):
        """Takes the arrays of the inputs by name, returns those of the outputs by name."""
        raise NotImplementedError

    def execute(self, requests):
        responses = [None] * len(requests)
        for members in self.groups(requests):
            try:
                parts = self.answer([arrays for _, arrays in members])
            except Exception as e:
                error = pb_utils.TritonError(str(e) if getattr(e, "triton_plain", False) else f"{type(e).__name__}: {e}")
                parts = [pb_utils.InferenceResponse(error=error)] * len(members)
            for (i, _), response in zip(members, parts):
                responses[i] = response
        return responses

    def groups(self, requests):
        """Requests that can run together: with the same inputs, of equal shapes but for the first dimension."""
        groups = {}
        for i, request in enumerate(requests):
            arrays = {t.name(): t.as_numpy() for t in request.inputs()}
            key = i
            if self.batches:
                key = tuple((name, a.dtype, a.shape[1:]) for name, a in sorted(arrays.items()))
            groups.setdefault(key, []).append((i, arrays))
        return groups.values()

    def answer(self, members):
        """Runs the arrays of several requests at once and returns their responses."""
        if len(members) == 1:
            return [self.response(self.fit(self.run(members[0]), None))]
        joined = {name: np.concatenate([m[name] for m in members]) for name in members[0]}
        rows = [next(iter(m.values())).shape[0] for m in members]
        outputs = self.fit(self.run(joined), sum(rows))
        at = np.cumsum(rows)[:-1]
        parts = {name: np.split(array, at) for name, array in outputs.items()}
        return [self.response({name: part[i] for name, part in parts.items()}) for i in range(len(members))]

    def response(self, outputs):
        return pb_utils.InferenceResponse([pb_utils.Tensor(n, a) for n, a in outputs.items()])

    def fit(self, results, rows):
        """Checks the outputs against the configuration."""
        fitting = {}
        for out in self.outputs:
            name = out["name"]
            if name not in results:
                raise PlainError(f"the model has no output '{name}': its outputs are {', '.join(results)}")
            array, want = np.asarray(results[name]), pb_utils.triton_string_to_numpy(out["data_type"])
            if array.dtype != want and not (want is np.object_ and array.dtype.kind in "SU"):
                raise PlainError(f"unexpected datatype {triton_type(array.dtype)} for inference output '{name}', "
                                 f"expecting {out['data_type']}")
            if rows is not None and (array.ndim == 0 or array.shape[0] != rows):
                raise PlainError(f"inference output '{name}' has shape {list(array.shape)} for a batch of {rows}")
            fitting[name] = np.ascontiguousarray(array.astype(np.object_) if array.dtype.kind in "SU" else array)
        return fitting


TYPES = {np.dtype(t): name for name, t in pb_utils.TRITON_STRING_TO_NUMPY.items()}


def triton_type(dtype):
    """The name of a numpy type in configurations."""
    return TYPES.get(np.dtype(dtype), str(dtype))


def complete(config, inputs, outputs, batchable):
    """Adds what a configuration leaves out. The tensors are (name, type, shape) with -1 for open
    dimensions; batchable tells that all of them begin with an open dimension for the batch."""
    c = config.as_dict()
    if c.get("input") and c.get("output"):
        return config
    batch = c.get("max_batch_size", 0)
    if batchable and batch == 0 and not c.get("input") and not c.get("output"):
        batch = DEFAULT_BATCH
        config.set_max_batch_size(batch)
        if not c.get("sequence_batching") and not c.get("ensemble_scheduling"):
            config.set_dynamic_batching()
    for given, add, tensors in ((c.get("input"), config.add_input, inputs), (c.get("output"), config.add_output, outputs)):
        if not given:
            for name, data_type, shape in tensors:
                add({"name": name, "data_type": data_type, "dims": list(shape[1:] if batch > 0 else shape)})
    return config
