"""CUDA shared memory: registered by handle, read and written, freed, its owner killed."""

import base64
import ctypes
import subprocess
import sys

import numpy as np
from lib import STAND_IN, Server, add, config_of, examples, expect, file_of, guarded, input_of, perf, repository, row, skip


class Driver:
    """Memory on GPU 0 by the driver's library, without other packages."""

    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        device, self.context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.call("cuCtxPushCurrent_v2", self.context)

    def call(self, name, *args):
        code = getattr(self.lib, name)(*args)
        if code:
            raise RuntimeError(f"{name}: error {code}")

    def allocate(self, size):
        address, handle = ctypes.c_uint64(), ctypes.create_string_buffer(64)
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        self.call("cuIpcGetMemHandle", handle, address)
        return address, handle.raw

    def write(self, address, a):
        a = np.ascontiguousarray(a)
        self.call("cuMemcpyHtoD_v2", address, ctypes.c_void_p(a.ctypes.data), ctypes.c_size_t(a.nbytes))

    def read(self, address, like):
        a = np.empty_like(like)
        self.call("cuMemcpyDtoH_v2", ctypes.c_void_p(a.ctypes.data), address, ctypes.c_size_t(a.nbytes))
        return a

    def free(self, address):
        self.call("cuMemFree_v2", address)


def register(s, name, handle, size):
    s.post(f"/v2/cudasharedmemory/region/{name}/register", {"raw_handle": {"b64": base64.b64encode(handle).decode()}, "device_id": 0, "byte_size": size})


def infer(s, model, n_in, n_out, shape, batch=1, out="out"):
    at = lambda name, size: {"shared_memory_region": name, "shared_memory_byte_size": size}  # noqa: E731
    body = {"inputs": [{"name": "input", "datatype": "FP32", "shape": [batch, *shape], "parameters": at("in", n_in)}],
            "outputs": [{"name": "output", "parameters": at(out, n_out)}]}  # fmt: skip
    return s.post(f"/v2/models/{model}/infer", body)


if len(sys.argv) > 1:  # the owner that is killed: it tells its handle and waits
    d = Driver()
    print(d.allocate(1 << 20)[1].hex(), flush=True)
    sys.stdin.read()
    sys.exit()

with guarded("shared memory"), repository() as models:
    add(models, "bert", config_of("bert", 8), file_of("bert"))
    with Server(models, "--disable-auto-complete-config") as s:
        d = Driver()
        x = input_of("bert", 4)
        (a_in, h_in), (a_out, h_out) = d.allocate(x.nbytes), d.allocate(x.nbytes)
        d.write(a_in, x)
        d.write(a_out, np.zeros_like(x))
        register(s, "in", h_in, x.nbytes)
        register(s, "out", h_out, x.nbytes)
        want = s.infer("bert", {"input": x})["output"]
        for _ in range(20):
            infer(s, "bert", x.nbytes, x.nbytes, x.shape[1:], 4)
        got = d.read(a_out, x)
        expect("input and output on the GPU", np.allclose(got, want, rtol=1e-2, atol=1e-3), float(np.max(np.abs(got - want))))
        for name, call in {
            "a region larger than its memory": lambda: register(s, "large", h_in, 1 << 40),
            "a handle of nothing": lambda: register(s, "bad", bytes(64), 64),
            "a name that is registered": lambda: register(s, "in", h_in, x.nbytes),
            "a tensor outside of its region": lambda: infer(s, "bert", x.nbytes * 2, x.nbytes, x.shape[1:], 8),
            "an output that does not fit": lambda: infer(s, "bert", x.nbytes, 16, x.shape[1:], 4),
        }.items():
            try:
                call()
                expect(name + " is refused", False, "it was accepted")
            except RuntimeError as e:
                expect(name + " is refused", '{"error":"' in str(e), e)
        s.post("/v2/cudasharedmemory/unregister")
        expect("no region is left", s.call("GET", "/v2/cudasharedmemory/status")[2] == b"[]")
        d.free(a_in)
        d.free(a_out)
        with guarded("an owner that is killed"):
            owner = subprocess.Popen([sys.executable, __file__, "owner"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            handle = bytes.fromhex(owner.stdout.readline())
            register(s, "in", handle, x.nbytes)
            owner.kill()
            owner.wait()
            try:
                infer(s, "bert", x.nbytes, x.nbytes, x.shape[1:], 4, out="in")
                row("a request after its owner was killed", note="it was answered: the memory lives as long as it is open")
            except RuntimeError as e:
                row("a request after its owner was killed", note=str(e)[:200])
            expect("the server lives", s.alive(), s.tail())
            s.post("/v2/cudasharedmemory/unregister")
            expect("the model answers", s.infer("bert", {"input": x})["output"].shape == x.shape)
        with guarded("triton perf --shared-memory cuda"):
            level = perf(s, "bert", 4, 4, "grpc", "cuda", interval=500)
            row("triton perf --shared-memory cuda", level["throughput_per_s"], "items/s", ok=level["throughput_per_s"] > 0)

with guarded("tritonclient"):
    if STAND_IN:
        skip("tritonclient", "its module needs the CUDA runtime")
    else:
        try:
            import tritonclient.http as client
            import tritonclient.utils.cuda_shared_memory as cudashm
        except ImportError as e:
            skip("tritonclient", e)
        else:
            with Server(examples("simple")) as s:
                c = client.InferenceServerClient(f"127.0.0.1:{s.http}")
                a = np.arange(16, dtype=np.int32).reshape(1, 16)
                r_in, r_out = cudashm.create_shared_memory_region("in", 128, 0), cudashm.create_shared_memory_region("out", 128, 0)
                cudashm.set_shared_memory_region(r_in, [a, a])
                c.register_cuda_shared_memory("in", cudashm.get_raw_handle(r_in), 0, 128)
                c.register_cuda_shared_memory("out", cudashm.get_raw_handle(r_out), 0, 128)
                inputs, outputs = [], []
                for i in (0, 1):
                    inputs.append(client.InferInput(f"INPUT{i}", [1, 16], "INT32"))
                    inputs[i].set_shared_memory("in", 64, 64 * i)
                    outputs.append(client.InferRequestedOutput(f"OUTPUT{i}"))
                    outputs[i].set_shared_memory("out", 64, 64 * i)
                c.infer("simple", inputs, outputs=outputs)
                got = cudashm.get_contents_as_numpy(r_out, np.int32, [1, 16])
                expect("tritonclient's regions", (got == 2 * a).all(), got)
                c.unregister_cuda_shared_memory()
                cudashm.destroy_shared_memory_region(r_in)
                cudashm.destroy_shared_memory_region(r_out)
