"""Writes the models of addGenerated (generate_stub_test.go) for NVIDIA's server.

    python generate_models.py DIRECTORY
    tritonserver --model-repository=DIRECTORY
    go test ./server/httpapi -run 'TestGenerate$' -record 127.0.0.1:8000 -update
"""
import os
import sys

IDENTITY = '''import triton_python_backend_utils as pb
class TritonPythonModel:
    def execute(self, requests):
        return [pb.InferenceResponse([pb.Tensor(t.name().replace("INPUT", "OUTPUT"), t.as_numpy()) for t in r.inputs()])
                for r in requests]
'''
CLASH = '''import triton_python_backend_utils as pb
class TritonPythonModel:
    def execute(self, requests):
        return [pb.InferenceResponse([pb.Tensor(n, r.inputs()[0].as_numpy()) for n in ("id", "model_name")]) for r in requests]
'''
PARAMETERS = '''import triton_python_backend_utils as pb
import json, numpy as np
class TritonPythonModel:
    def execute(self, requests):
        out = []
        for r in requests:
            s = json.dumps(json.loads(r.parameters()), sort_keys=True)
            s += " shapes " + " ".join(t.name() + str(list(t.shape())) for t in r.inputs())
            out.append(pb.InferenceResponse([pb.Tensor("OUTPUT0", np.array([s.encode()], dtype=np.object_))]))
        return out
'''
REPEAT = '''import triton_python_backend_utils as pb
import numpy as np
class TritonPythonModel:
    def execute(self, requests):
        for r in requests:
            s = r.get_response_sender()
            n = int(pb.get_input_tensor_by_name(r, "COUNT").as_numpy().reshape(-1)[0])
            f = pb.get_input_tensor_by_name(r, "FAIL")
            f = -1 if f is None else int(f.as_numpy().reshape(-1)[0])
            for i in range(n):
                if i == f:
                    s.send(pb.InferenceResponse(error=pb.TritonError("boom %d" % i)))
                    continue
                s.send(pb.InferenceResponse([pb.Tensor("INDEX", np.array([i], dtype=np.int32)),
                                             pb.Tensor("TEXT", np.array([b"t%d" % i], dtype=np.object_))]))
            s.send(flags=pb.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
'''
FAIL = '''import triton_python_backend_utils as pb
class TritonPythonModel:
    def execute(self, requests):
        return [pb.InferenceResponse(error=pb.TritonError("boom", pb.TritonError.INTERNAL)) for r in requests]
'''


def tensors(list):
    return ", ".join('{name: "%s" data_type: TYPE_%s dims: %s}' % t for t in list)


def write(name, batch, inputs, outputs, code, more=""):
    root = os.path.join(sys.argv[1], name)
    os.makedirs(os.path.join(root, "1"), exist_ok=True)
    with open(os.path.join(root, "config.pbtxt"), "w") as f:
        f.write('backend: "python"\nmax_batch_size: %d\ninput [%s]\noutput [%s]\n%s\n'
                % (batch, tensors(inputs), tensors(outputs), more))
    with open(os.path.join(root, "1", "model.py"), "w") as f:
        f.write(code)


def identity(name, batch, *inputs):
    write(name, batch, inputs, [(n.replace("INPUT", "OUTPUT"), t, d) for n, t, d in inputs], IDENTITY)


for t in "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 fp16 fp32 fp64 string bf16".split():
    identity("id_" + t, 0, ("INPUT0", t.upper(), "[-1]"))
identity("g_one", 0, ("INPUT0", "STRING", "[1]"))
identity("g_batch", 8, ("INPUT0", "INT32", "[-1]"))
identity("g_fixed", 8, ("INPUT0", "INT32", "[2, 3]"))
identity("g_mixed", 0, ("INPUT0", "INT32", "[-1, 3, -1]"))
identity("g_order", 0, ("INPUTZ", "INT32", "[1]"), ("INPUTA", "STRING", "[-1]"), ("INPUTm", "FP32", "[1]"))
write("g_clash", 0, [("INPUT0", "STRING", "[1]")], [("id", "STRING", "[1]"), ("model_name", "STRING", "[1]")], CLASH)
said = [("OUTPUT0", "STRING", "[1]")]
write("g_params", 0, [("INPUT0", "INT32", "[-1] optional: true"), ("INPUT1", "STRING", "[1] optional: true")], said, PARAMETERS)
write("g_inpar", 0, [("parameters", "STRING", "[1]"), ("INPUT0", "INT32", "[1] optional: true")], said, PARAMETERS)
write("g_idin", 0, [("id", "STRING", "[1]")], said, PARAMETERS)
write("g_repeat", 0, [("COUNT", "INT32", "[1]"), ("FAIL", "INT32", "[1] optional: true")],
      [("INDEX", "INT32", "[1]"), ("TEXT", "STRING", "[1]")], REPEAT, "model_transaction_policy { decoupled: true }")
write("g_fail_internal", 0, [("INPUT0", "INT32", "[1]")], [("OUTPUT0", "INT32", "[1]")], FAIL)
