"""Many requests at once: the clients' own asynchronous calls, and threads."""

import queue
import threading

import numpy as np
from harness import CLIENTS, HTTP, check, grpc, grpcclient, httpclient, simple_inputs, tensor


@check
def http_async():
    with httpclient.InferenceServerClient(HTTP, concurrency=8) as client:
        a, b, inputs = simple_inputs(httpclient)
        waiting = [client.async_infer("simple", inputs) for _ in range(64)]
        for w in waiting:
            assert (w.get_result().as_numpy("OUTPUT0") == a + b).all()


@check
def http_async_errors():
    with httpclient.InferenceServerClient(HTTP, concurrency=4) as client:
        _, _, inputs = simple_inputs(httpclient)
        waiting = [client.async_infer("simple", inputs[: 1 + i % 2]) for i in range(16)]
        for i, w in enumerate(waiting):
            try:
                w.get_result()
                assert i % 2 == 1, i
            except httpclient.InferenceServerException as e:
                assert i % 2 == 0 and "expected 2 inputs" in e.message(), e


@check
def grpc_async():
    done = queue.Queue()
    with grpc() as client:
        a, b, inputs = simple_inputs(grpcclient)
        for _ in range(64):
            client.async_infer("simple", inputs, callback=lambda result, error: done.put((result, error)))
        for _ in range(64):
            result, error = done.get(timeout=30)
            assert error is None, error
            assert (result.as_numpy("OUTPUT1") == a - b).all()


@check
def grpc_async_errors():
    done = queue.Queue()
    with grpc() as client:
        _, _, inputs = simple_inputs(grpcclient)
        client.async_infer("simple", inputs[:1], callback=lambda result, error: done.put((result, error)))
        result, error = done.get(timeout=30)
        assert result is None and "expected 2 inputs" in error.message(), error


@check
def many_threads_get_their_own_answers():
    failures = []
    clients = list(CLIENTS.values())

    def worker(n):
        try:
            module, address = clients[n % 2]
            with module.InferenceServerClient(address) as client:
                for i in range(30):
                    ids = np.full((1 + (n + i) % 4, 16), n * 100 + i, dtype=np.int32)
                    inputs = [tensor(module, "INPUT0", ids, "INT32"), tensor(module, "INPUT1", ids, "INT32")]
                    assert (client.infer("simple", inputs).as_numpy("OUTPUT0") == 2 * ids).all()
        except Exception as e:  # collected for the main thread
            failures.append(e)

    threads = [threading.Thread(target=worker, args=(n,)) for n in range(12)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures, failures
