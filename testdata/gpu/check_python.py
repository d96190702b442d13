"""Python models with tensors on the GPU."""

import importlib.util

import numpy as np
from lib import GROUP, KIND, STAND_IN, Server, add, expect, guarded, repository, row

IO = """max_batch_size: 0
input [ { name: "X" data_type: TYPE_FP32 dims: [ -1 ] } ]
output [ { name: "Y" data_type: TYPE_FP32 dims: [ -1 ] } ]
"""

PLACE = """import json
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        self.place = np.array([float(args["model_instance_kind"] == "GPU"), float(args["model_instance_device_id"])], np.float32)

    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", self.place)]) for _ in requests]
"""

TORCH = """import time
import torch
import triton_python_backend_utils as pb_utils

DEVICE = "%s"


class TritonPythonModel:
    def initialize(self, args):
        self.weight = torch.full((1,), 2.0, device=DEVICE)

    def execute(self, requests):
        responses = []
        for r in requests:
            x = torch.from_dlpack(pb_utils.get_input_tensor_by_name(r, "X").to_dlpack()).to(DEVICE)
            y = x * self.weight
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor.from_dlpack("Y", torch.utils.dlpack.to_dlpack(y))]))
        return responses
"""

BLS = """import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for r in requests:
            x = pb_utils.get_input_tensor_by_name(r, "X")
            for _ in range(2):
                answer = pb_utils.InferenceRequest(model_name="double", requested_output_names=["Y"], inputs=[x]).exec()
                if answer.has_error():
                    raise pb_utils.TritonModelException(answer.error().message())
                x = pb_utils.Tensor.from_dlpack("X", pb_utils.get_output_tensor_by_name(answer, "Y").to_dlpack())
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor.from_dlpack("Y", x.to_dlpack())]))
        return responses
"""

torch = importlib.util.find_spec("torch") is not None

with repository() as models:
    add(models, "place", 'backend: "python"\n' + IO + GROUP % (KIND, 1), content=PLACE)
    if torch:
        add(models, "double", 'backend: "python"\n' + IO + GROUP % (KIND, 1), content=TORCH % ("cpu" if STAND_IN else "cuda"))
        add(models, "bls", 'backend: "python"\n' + IO + GROUP % (KIND, 1), content=BLS)
    else:
        row("models with torch", note="skipped: there is no torch", ok=None if STAND_IN else False)
    with Server(models) as s:
        with guarded("kind and device"):
            y = s.infer("place", {"X": np.zeros(1, np.float32)})["Y"]
            expect("kind and device id of the instance", list(y) == ([0, 0] if STAND_IN else [1, 0]), list(y))
        if torch:
            import time

            x = np.random.default_rng(0).random(1024, np.float32)
            with guarded("torch through DLPack"):
                expect("torch through DLPack, in and out", np.allclose(s.infer("double", {"X": x})["Y"], 2 * x))
                expect("BLS between models", np.allclose(s.infer("bls", {"X": x})["Y"], 4 * x))
            with guarded("64 MB"):
                big = np.zeros(16 << 20, np.float32)
                took = []
                for _ in range(5):
                    begin = time.time()
                    s.infer("double", {"X": big})
                    took.append(time.time() - begin)
                row("64 MB through torch and back", min(took) * 1e3, "ms", note="with the copies to and from the GPU, by HTTP")
        expect("the server lives", s.alive(), s.tail())
