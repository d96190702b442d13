"""Python models with tensors on the GPU."""

import importlib.util
import json
import sys
import time

import numpy as np
from lib import GROUP, KIND, STAND_IN, Server, add, expect, guarded, repository, row, run

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

# As models of language stream: a response for each token, made on the GPU where there is torch.
STREAM = """import numpy as np
import triton_python_backend_utils as pb_utils

DEVICE = "%s"
if DEVICE:
    import torch


class TritonPythonModel:
    def execute(self, requests):
        for r in requests:
            sender = r.get_response_sender()
            prompt = pb_utils.get_input_tensor_by_name(r, "text_input").as_numpy().reshape(-1)[0].decode()
            state = torch.zeros(64, device=DEVICE) if DEVICE else np.zeros(64)
            for i, word in enumerate(prompt.split()):
                if r.is_cancelled():
                    break
                state = state + i
                text = f"{word}:{int(state.sum())}"
                sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("text_output", np.array([text.encode()], np.object_))]))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""

STREAM_CONFIG = """backend: "python"
max_batch_size: 0
model_transaction_policy { decoupled: true }
input [ { name: "text_input" data_type: TYPE_STRING dims: [ 1 ] } ]
output [ { name: "text_output" data_type: TYPE_STRING dims: [ 1 ] } ]
"""

# TorchScript and an exported program of the same computation.
FILES = """import sys
import torch


class Double(torch.nn.Module):
    def forward(self, x):
        return x * 2 + 1


x = torch.zeros(2, 8)
torch.jit.trace(Double(), x).save(sys.argv[1])
torch.export.save(torch.export.export(Double(), (x,), dynamic_shapes={"x": {0: torch.export.Dim("batch", min=1, max=64)}}), sys.argv[2])
"""

PYTORCH = """backend: "pytorch"
max_batch_size: 64
input [ { name: "INPUT__0" data_type: TYPE_FP32 dims: [ 8 ] } ]
output [ { name: "OUTPUT__0" data_type: TYPE_FP32 dims: [ 8 ] } ]
"""

torch = importlib.util.find_spec("torch") is not None

with repository() as models:
    add(models, "place", 'backend: "python"\n' + IO + GROUP % (KIND, 1), content=PLACE)
    device = "" if STAND_IN else "cuda"
    add(models, "stream", STREAM_CONFIG + GROUP % (KIND, 1), content=STREAM % device)
    if torch:
        add(models, "script", PYTORCH + GROUP % (KIND, 1))
        add(models, "exported", 'platform: "torch_aoti"\n' + PYTORCH + GROUP % (KIND, 1))
        with guarded("files of torch"):
            run(sys.executable, "-c", FILES, models / "script" / "1" / "model.pt", models / "exported" / "1" / "model.pt2")
        add(models, "double", 'backend: "python"\n' + IO + GROUP % (KIND, 1), content=TORCH % ("cpu" if STAND_IN else "cuda"))
        add(models, "bls", 'backend: "python"\n' + IO + GROUP % (KIND, 1), content=BLS)
    else:
        row("models with torch", note="skipped: there is no torch", ok=None if STAND_IN else False)
    with Server(models, "--exit-on-error", "false", "--strict-readiness", "false") as s:
        with guarded("a decoupled stream"):
            status, _, data = s.call("POST", "/v2/models/stream/generate_stream", {"text_input": "one two three four"})
            words = [json.loads(line[6:])["text_output"] for line in data.decode().splitlines() if line.startswith("data: ")]
            expect("a decoupled stream", status == 200 and words == ["one:0", "two:64", "three:192", "four:384"], words)
        with guarded("kind and device"):
            y = s.infer("place", {"X": np.zeros(1, np.float32)})["Y"]
            expect("kind and device id of the instance", list(y) == ([0, 0] if STAND_IN else [1, 0]), list(y))
        if torch:
            x2 = np.random.default_rng(0).random((3, 8), np.float32)
            for name, what in (("script", "TorchScript"), ("exported", "torch.export")):
                with guarded(f"backend pytorch, {what}"):
                    expect(f"backend pytorch, {what}", np.allclose(s.infer(name, {"INPUT__0": x2})["OUTPUT__0"], 2 * x2 + 1, rtol=1e-3))
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
