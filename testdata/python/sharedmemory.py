"""System shared memory, with the client's own module for it."""

import contextlib
import os

import numpy as np
import tritonclient.utils.shared_memory as shm
from harness import both, expect_error, httpclient, needs
from tritonclient.utils import serialize_byte_tensor


@contextlib.contextmanager
def region(client, name, size, register=True):
    key = f"/interop_{os.getpid()}_{name}"
    handle = shm.create_shared_memory_region(name, key, size)
    try:
        if register:
            client.register_system_shared_memory(name, key, size)
        yield handle
    finally:
        client.unregister_system_shared_memory(name)
        shm.destroy_shared_memory_region(handle)


def at(module, kind, name, shape, datatype, where, size, offset=0):
    t = module.InferInput(name, shape, datatype) if kind == "in" else module.InferRequestedOutput(name)
    t.set_shared_memory(where, size, offset)
    return t


def registered(module, client, name=""):
    status = client.get_system_shared_memory_status(name)
    if module is httpclient:
        return {r["name"]: (r["key"], int(r["byte_size"])) for r in status}
    return {n: (r.key, r.byte_size) for n, r in status.regions.items()}


@both
def inputs_and_outputs_in_shared_memory(module, client):
    a = np.arange(16, dtype=np.int32).reshape(1, 16)
    b = np.full((1, 16), 9, dtype=np.int32)
    with region(client, "in", 128) as hin, region(client, "out", 128) as hout:
        shm.set_shared_memory_region(hin, [a, b])
        inputs = [at(module, "in", f"INPUT{i}", [1, 16], "INT32", "in", 64, 64 * i) for i in (0, 1)]
        outputs = [at(module, "out", f"OUTPUT{i}", None, None, "out", 64, 64 * i) for i in (0, 1)]
        r = client.infer("simple", inputs, outputs=outputs)
        o = r.get_output("OUTPUT0")
        assert ("data" not in o) if module is httpclient else (list(o.shape) == [1, 16] and not any(r.get_response().raw_output_contents))
        assert (shm.get_contents_as_numpy(hout, np.int32, [1, 16]) == a + b).all()
        assert (shm.get_contents_as_numpy(hout, np.int32, [1, 16], 64) == a - b).all()


@both
def only_inputs_in_shared_memory(module, client):
    a = np.arange(32, dtype=np.float32).reshape(1, 32)
    with region(client, "in", 128) as handle:
        shm.set_shared_memory_region(handle, [a])
        for n in range(3):
            r = client.infer("identity_fp32", [at(module, "in", "INPUT0", [1, 32], "FP32", "in", 128)])
            assert (r.as_numpy("OUTPUT0") == a).all(), n


@both
def only_outputs_in_shared_memory(module, client):
    a = np.arange(32, dtype=np.float32).reshape(1, 32)
    with region(client, "out", 256) as handle:
        t = module.InferInput("INPUT0", [1, 32], "FP32")
        t.set_data_from_numpy(a)
        client.infer("identity_fp32", [t], outputs=[at(module, "out", "OUTPUT0", None, None, "out", 128, 128)])
        assert (shm.get_contents_as_numpy(handle, np.float32, [1, 32], 128) == a).all()


@both
def large_tensors_in_shared_memory(module, client):
    a = np.random.default_rng(2).standard_normal((1, 1_000_000)).astype(np.float32)
    with region(client, "in", a.nbytes) as hin, region(client, "out", a.nbytes) as hout:
        shm.set_shared_memory_region(hin, [a])
        inputs = [at(module, "in", "INPUT0", list(a.shape), "FP32", "in", a.nbytes)]
        client.infer("identity_fp32", inputs, outputs=[at(module, "out", "OUTPUT0", None, None, "out", a.nbytes)])
        assert (shm.get_contents_as_numpy(hout, np.float32, a.shape) == a).all()


@both
def strings_in_shared_memory(module, client):
    a = np.array([["one", "", "żółw"]], dtype=np.object_)
    data = serialize_byte_tensor(a)
    size = len(data.item())
    with region(client, "in", size) as hin, region(client, "out", size) as hout:
        shm.set_shared_memory_region(hin, [data])
        inputs = [at(module, "in", "INPUT0", [1, 3], "BYTES", "in", size)]
        client.infer("identity_string", inputs, outputs=[at(module, "out", "OUTPUT0", None, None, "out", size)])
        got = shm.get_contents_as_numpy(hout, np.object_, [1, 3])
        assert [x.decode() for x in got.flatten()] == list(a.flatten()), got


@both
def status_of_regions(module, client):
    with region(client, "one", 64), region(client, "two", 128):
        all_of_them = registered(module, client)
        assert all_of_them["one"][1] == 64 and all_of_them["two"][1] == 128, all_of_them
        assert list(registered(module, client, "two")) == ["two"]
    assert "one" not in registered(module, client)


@both
def all_regions_at_once(module, client):
    with region(client, "one", 64), region(client, "two", 128):
        client.unregister_system_shared_memory()
        assert registered(module, client) == {}


@both
def wrong_regions(module, client):
    expect_error(lambda: client.register_system_shared_memory("bad", "/interop_no_such_key", 64), "Unable to open shared memory region: '/interop_no_such_key'")
    expect_error(lambda: client.get_system_shared_memory_status("bad"), "Unable to find system shared memory region: 'bad'")
    with region(client, "one", 64) as handle:
        expect_error(lambda: client.register_system_shared_memory("one", f"/interop_{os.getpid()}_one", 64), "shared memory region 'one' already in manager")
        assert handle
    inputs = [at(module, "in", "INPUT0", [1, 16], "FP32", "unregistered", 64)]
    expect_error(lambda: client.infer("identity_fp32", inputs), "Unable to find shared memory region: 'unregistered'")


@both
def outside_of_a_region(module, client):
    with region(client, "in", 64):
        inputs = [at(module, "in", "INPUT0", [1, 32], "FP32", "in", 128)]
        expect_error(lambda: client.infer("identity_fp32", inputs), "Invalid offset + byte size for shared memory region: 'in'")
        inputs = [at(module, "in", "INPUT0", [1, 16], "FP32", "in", 64, 64)]
        expect_error(lambda: client.infer("identity_fp32", inputs), "offset")


@both
def an_output_that_does_not_fit(module, client):
    a = np.zeros((1, 32), dtype=np.float32)
    with region(client, "out", 64):
        t = module.InferInput("INPUT0", [1, 32], "FP32")
        t.set_data_from_numpy(a)
        outputs = [at(module, "out", "OUTPUT0", None, None, "out", 64)]
        expect_error(lambda: client.infer("identity_fp32", [t], outputs=outputs), "shared memory size specified with the request for output 'OUTPUT0' (64 bytes) should be at least 128 bytes to hold the results")


@both
def cuda_regions(module, client):
    status = client.get_cuda_shared_memory_status()
    assert (status == [] if module is httpclient else not status.regions), status
    client.unregister_cuda_shared_memory()
    with needs("cuda shared memory"):
        expect_error(lambda: client.get_cuda_shared_memory_status("nope"), "Unable to find cuda shared memory region: 'nope'")
