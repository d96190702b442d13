"""A model that notes the batches it is given; see Model in model.go."""

import json
import os
import threading
import time

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        self.name = args["model_name"]
        self.options = {k: v["string_value"] for k, v in config["parameters"].items()}
        self.inputs = [i["name"] for i in config["input"]]
        self.optional = any(i["optional"] for i in config["input"])
        self.outputs = [o["name"] for o in config["output"]]
        sequence = config.get("sequence_batching", {})
        self.controls = [c["name"] for c in sequence.get("control_input", [])]
        pb_utils.InferenceResponse([pb_utils.Tensor("X", np.zeros([1], np.int32) + np.int32(1))])  # the first takes longer
        self.log = os.open(os.environ["SCENARIO_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def note(self, at, requests):
        members = [self.member(r) for r in requests]
        line = json.dumps({"at": at, "model": self.name, "members": members}) + "\n"
        os.write(self.log, line.encode())

    def member(self, r):
        name = r.request_id() or "-"
        arrays = self.arrays(r)
        rows = next(iter(arrays.values())).shape[0] if arrays else 1
        if rows != 1 and len(next(iter(arrays.values())).shape) > 1:
            name += "*%d" % rows
        if self.optional:
            name += "{%s}" % ",".join(arrays)
        if self.controls:
            name += "(%s)" % " ".join("%s=%s" % (c, self.control(r, c)) for c in self.controls)
        return name

    def control(self, r, name):
        t = pb_utils.get_input_tensor_by_name(r, name)
        if t is None:
            return "none"
        v = t.as_numpy().flatten()[0]
        return v.decode() if isinstance(v, bytes) else int(v)

    def arrays(self, r):
        all = {n: pb_utils.get_input_tensor_by_name(r, n) for n in self.inputs}
        return {n: t.as_numpy() for n, t in all.items() if t is not None}

    def first(self, r):
        arrays = self.arrays(r)
        return int(next(iter(arrays.values())).flatten()[0]) if arrays else 0

    def execute(self, requests):
        self.note(time.time_ns(), requests)
        firsts = [self.first(r) for r in requests]
        if "decoupled" in self.options:
            return self.decoupled(requests)
        took = self.options.get("exec", "0")
        time.sleep((max(firsts) if took == "value" else int(took)) / 1000)
        if -2 in firsts:
            raise ValueError("boom")
        if "iterative" in self.options:
            return self.iterate(requests)
        return [self.answer(r, int(self.options.get("add", "0"))) for r in requests]

    def answer(self, r, add):
        if self.first(r) == -1:
            return pb_utils.InferenceResponse(error=pb_utils.TritonError("boom"))
        arrays = list(self.arrays(r).values())
        out = sum(arrays[1:], arrays[0]) + np.int32(add) if arrays else np.zeros([1], np.int32)
        wanted = [o for o in self.outputs if o in r.requested_output_names()]
        return pb_utils.InferenceResponse([pb_utils.Tensor(o, out) for o in wanted])

    def decoupled(self, requests):
        todo = [(r.get_response_sender(), self.first(r), r) for r in requests]
        if "thread" in self.options:
            threading.Thread(target=self.repeat, args=(todo,)).start()
        else:
            self.repeat(todo)
        return None

    def repeat(self, todo):
        for sender, n, r in todo:
            if n == -1:
                sender.send(self.answer(r, 0), flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
                continue
            for i in range(n):
                time.sleep(int(self.options.get("gap", "0")) / 1000)
                sender.send(self.answer(r, i - n))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)

    def iterate(self, requests):
        # A request comes back with its own input: how often it came is kept here.
        self.seen = getattr(self, "seen", {})
        for r in requests:
            key = r.request_id()
            left = self.seen.get(key, self.first(r)) - 1
            self.seen[key] = left
            sender = r.get_response_sender()
            sender.send(self.answer(r, left - self.first(r)))
            if left > 0:
                r.set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
            else:
                del self.seen[key]
                sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        return None
