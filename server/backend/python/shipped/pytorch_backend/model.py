"""The backend "pytorch": TorchScript (model.pt) and programs of torch.export and AOTInductor (model.pt2)."""

import re

import _triton_framework as framework
import numpy as np

INDEX = re.compile(r".*__(\d+)")


def places(names, known):
    """The position of each tensor: NAME__<index>, a name that the model knows, or the order of the configuration."""
    if all(INDEX.fullmatch(n) for n in names):
        return {n: int(INDEX.fullmatch(n).group(1)) for n in names}
    if all(n in known for n in names):
        return {n: known.index(n) for n in names}
    return {n: i for i, n in enumerate(names)}


class TritonPythonModel(framework.FrameworkModel):
    def open(self):
        self.torch = torch = framework.need("torch", "torch", "pytorch")
        for key, set_threads in (("INTRA_OP_THREAD_COUNT", torch.set_num_threads), ("INTER_OP_THREAD_COUNT", torch.set_num_interop_threads)):
            n = framework.parameter(self.config, key)
            if n:
                set_threads(int(n))
        if framework.flag(self.config, "DISABLE_OPTIMIZED_EXECUTION"):
            torch.jit.set_fusion_strategy([])
        self.target = torch.device("cuda", self.device) if self.gpu else torch.device("cpu")
        self.mode = torch.inference_mode if framework.flag(self.config, "INFERENCE_MODE", True) else torch.no_grad
        path = framework.model_path(self.config, "model.pt2" if self.config["platform"] == "torch_aoti" else "model.pt", "model.pt2")
        self.model, arguments = self.program(path) if path.endswith(".pt2") else self.script(path)
        self.inputs_at = places(self.inputs, arguments)
        self.outputs_at = places([o["name"] for o in self.outputs], [])

    def script(self, path):
        model = self.torch.jit.load(path, map_location=self.target).eval()
        return model, [a.name for a in model.forward.schema.arguments[1:]]

    def program(self, path):
        """A program of AOTInductor, which is compiled, or of torch.export."""
        import zipfile
        with zipfile.ZipFile(path) as z:
            compiled = any("aotinductor" in n and n.endswith((".so", ".cpp")) for n in z.namelist())
        if compiled:
            return self.torch._inductor.aoti_load_package(path), []
        exported = self.torch.export.load(path)
        model = exported.module().to(self.target)
        return model, list(exported.graph_signature.user_inputs)

    def run(self, inputs):
        torch = self.torch
        arguments = [None] * len(inputs)
        for name, array in inputs.items():
            at = self.inputs_at[name]
            if at >= len(arguments):
                raise framework.PlainError(f"input '{name}' has index {at}, but the request has {len(arguments)} inputs")
            if array.dtype == np.object_:
                raise framework.PlainError(f"input '{name}': text is not supported")
            arguments[at] = torch.from_numpy(np.ascontiguousarray(array)).to(self.target)
        with self.mode():
            results = self.model(*arguments)
        if isinstance(results, dict):
            return {name: self.array(t) for name, t in results.items()}
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        arrays = {}
        for name, at in self.outputs_at.items():
            if at >= len(results):
                raise framework.PlainError(f"the model has {len(results)} outputs, output '{name}' is number {at + 1}")
            arrays[name] = self.array(results[at])
        return arrays

    def array(self, tensor):
        if not isinstance(tensor, self.torch.Tensor):
            raise framework.PlainError(f"the model returns {type(tensor).__name__}, not tensors")
        return tensor.detach().cpu().numpy()
