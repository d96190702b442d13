"""Sequences, ensembles, queues with priorities and time limits, the response cache."""

import contextlib
import json
import time

import numpy as np
from asyncio_clients import aio
from generate import events, post
from harness import Skip, both, check, expect_error, grpc, grpcclient, httpclient, tensor, unload
from streaming import stream

SUM, DYNA, SLOW = "custom_sequence_int32", "custom_dyna_sequence_int32", "custom_identity_int32"


def number(module, n, name="INPUT"):
    return [tensor(module, name, np.array([[n]], dtype=np.int32), "INT32")]


def flags(id, i, n):
    return {"sequence_id": id, "sequence_start": i == 0, "sequence_end": i == n - 1}


def statistics(client, model):
    got = client.get_inference_statistics(model)
    if isinstance(client, httpclient.InferenceServerClient):
        return got["model_stats"][0]["inference_stats"]
    s = got.model_stats[0].inference_stats
    fields = ("success", "fail", "cache_hit", "cache_miss")
    return {f: {"count": getattr(s, f).count} for f in fields}


@contextlib.contextmanager
def configured(client, model, **config):
    """Loads a model with another configuration, and afterwards with its own."""
    client.load_model(model, config=json.dumps(config))
    try:
        yield
    finally:
        unload(client, model)
        client.load_model(model)


def identity(delay_ms=0, **more):
    io = {"data_type": "TYPE_INT32", "dims": [-1]}
    return {
        "backend": "identity",
        "max_batch_size": 1,
        "input": [{"name": "INPUT0", **io}],
        "output": [{"name": "OUTPUT0", **io}],
        "instance_group": [{"kind": "KIND_CPU", "count": 1}],
        "parameters": {"execute_delay_ms": {"string_value": str(delay_ms)}},
        **more,
    }


@both
def sequences_side_by_side(module, client):
    for i in range(4):
        for id in (71, 2**62 + 3):
            r = client.infer(SUM, number(module, id % 10 + i), **flags(id, i, 4))
            assert r.as_numpy("OUTPUT").tolist() == [[sum(id % 10 + k for k in range(i + 1))]], (id, i)


@both
def sequence_without_a_start(module, client):
    want = "inference request for sequence 99 to model 'custom_sequence_int32' must specify the START flag on the first request of the sequence"
    expect_error(lambda: client.infer(SUM, number(module, 1), sequence_id=99), want)


@both
def sequences_with_text_as_id(module, client):
    def control(name, kind, **values):
        return {"name": name, "control": [{"kind": f"CONTROL_SEQUENCE_{kind}", **values}]}

    on = {"int32_false_true": [0, 1]}
    controls = [control("START", "START", **on), control("END", "END", **on), control("READY", "READY", **on)]
    controls.append(control("CORRID", "CORRID", data_type="TYPE_STRING"))
    io = {"data_type": "TYPE_INT32", "dims": [-1]}
    config = {
        "backend": "dyna_sequence",
        "max_batch_size": 8,
        "input": [{"name": "INPUT", **io}],
        "output": [{"name": "OUTPUT", **io}],
        "sequence_batching": {"oldest": {"max_candidate_sequences": 4}, "control_input": controls},
    }
    with configured(client, DYNA, **config):
        for i in range(3):
            for id in ("7 of one", "8 of another"):
                r = client.infer(DYNA, number(module, 10), **flags(id, i, 3))
                want = 10 * (i + 1) + (int(id[0]) if i == 2 else 0)  # the id is added at the end
                assert r.as_numpy("OUTPUT").tolist() == [[want]], (id, i)


@aio
async def sequences(sync, client):
    for i in range(3):
        r = await client.infer(SUM, number(sync, 5), **flags(81, i, 3))
        assert r.as_numpy("OUTPUT").tolist() == [[5 * (i + 1)]], i


@check
def sequences_mixed_in_a_stream():
    with stream() as s:
        for i in range(5):
            for id in (11, 12, 13):
                s.send(DYNA, number(grpcclient, id), request_id=f"{id} {i}", **flags(id, i, 5))
        got = {}
        for _ in range(15):
            r = s.result()
            id, i = map(int, r.get_response().id.split())
            got.setdefault(id, []).append((i, int(r.as_numpy("OUTPUT")[0][0])))
        for id, answers in got.items():
            assert answers == [(i, id * (i + 1) + (id if i == 4 else 0)) for i in range(5)], answers


@check
def iterations_in_a_stream():
    with stream() as s:
        s.send("iterative_sequence", number(grpcclient, 2))
        assert [int(s.result().as_numpy("OUTPUT")[0][0]) for _ in range(2)] == [1, 0]


@check
def answers_of_a_batch_model_as_events():
    with post("square_int32/generate_stream", {"IN": 3}) as r:
        assert [e["OUT"] for e in events(r)] == [3, 3, 3]


TEXTS = ["The best film of the year", "A waste of time", "The best film of the year"]


def check_pipeline(r):
    labels, chances = r.as_numpy("predictions"), r.as_numpy("probabilities")
    assert labels.shape == (3, 1) and chances.shape == (3, 2), (labels, chances)
    assert np.allclose(chances.sum(axis=1), 1) and labels[0] == labels[2] and (chances[0] == chances[2]).all()


def texts(module):
    return [tensor(module, "raw_text", np.array([[t.encode()] for t in TEXTS], dtype=np.object_), "BYTES")]


@both
def ensemble(module, client):
    steps = ("tokenizer", "bert_model", "postprocessor")
    before = [statistics(client, m)["success"]["count"] for m in steps]
    check_pipeline(client.infer("text_pipeline", texts(module)))
    assert [int(statistics(client, m)["success"]["count"]) for m in steps] == [int(n) + 1 for n in before]


@both
def ensemble_returns_its_sequence(module, client):
    for id in (7, 2**62 + 3, "seven"):
        got = client.infer("text_pipeline", texts(module), sequence_id=id, sequence_start=True).get_response()
        if module is httpclient:
            assert got["parameters"] == {"sequence_id": id, "sequence_start": True, "sequence_end": False}, got
            continue
        p = got.parameters
        returned = p["sequence_id"].string_param if isinstance(id, str) else p["sequence_id"].int64_param
        assert (returned, p["sequence_start"].bool_param, p["sequence_end"].bool_param) == (id, True, False), got


@aio
async def ensemble_at_once(sync, client):
    check_pipeline(await client.infer("text_pipeline", texts(sync)))


@check
def ensemble_in_a_stream():
    with stream() as s:
        for _ in range(3):
            s.send("text_pipeline", texts(grpcclient))
        for _ in range(3):
            check_pipeline(s.result())


@both
def response_cache(module, client):
    with configured(client, SLOW, **identity(response_cache={"enable": True})):
        for _ in range(3):
            assert client.infer(SLOW, number(module, 4, "INPUT0")).as_numpy("OUTPUT0").tolist() == [[4]]
        assert client.infer(SLOW, number(module, 5, "INPUT0")).as_numpy("OUTPUT0").tolist() == [[5]]
        s = statistics(client, SLOW)
        if not int(s["cache_miss"]["count"]):
            raise Skip("the server has no response cache")
        got = [int(s[f]["count"]) for f in ("success", "cache_hit", "cache_miss")]
        assert got == [4, 2, 2], got


class Running:
    """Requests over gRPC; the first one keeps the model busy until it is cancelled."""

    def __init__(self, client):
        self.client, self.ended, self.calls = client, [], {}

    def send(self, name, **kwargs):
        def done(result, error):
            self.ended.append((name, error.message() if error else ""))

        self.calls[name] = self.client.async_infer(SLOW, number(grpcclient, 1, "INPUT0"), callback=done, **kwargs)
        if not hasattr(self.calls[name], "cancel"):
            raise Skip("this client cannot cancel calls")

    def wait(self, n):
        for _ in range(3000):
            if len(self.ended) >= n:
                return self.ended
            time.sleep(0.01)
        raise AssertionError(f"{self.ended}: {n} are expected to end")


@contextlib.contextmanager
def busy(delay_ms=600000, **policy):
    with grpc() as client:
        if not hasattr(client.async_infer("simple", [], callback=lambda result, error: None), "cancel"):
            raise Skip("this client cannot cancel calls")
        with configured(client, SLOW, **identity(delay_ms, dynamic_batching=policy)):
            r = Running(client)
            r.send("first")
            time.sleep(0.1)  # it runs
            try:
                yield r
            finally:
                for call in r.calls.values():
                    call.cancel()


@check
def queue_time_is_over():
    with busy(default_queue_policy={"allow_timeout_override": True, "default_timeout_microseconds": 300_000_000}) as r:
        r.send("late", timeout=50_000)
        name, error = r.wait(1)[0]
        assert name == "late" and "Request timeout expired" in error, r.ended


@check
def queue_is_full():
    with busy(default_queue_policy={"max_queue_size": 1}) as r:
        r.send("waits")
        time.sleep(0.1)
        r.send("too many")
        name, error = r.wait(1)[0]
        assert name == "too many" and "Exceeds maximum queue size" in error, r.ended


@check
def cancelled_in_the_queue():
    with busy() as r:
        r.send("waits")
        time.sleep(0.1)
        r.calls["waits"].cancel()
        assert r.wait(1)[0][0] == "waits", r.ended
        for _ in range(3000):
            if statistics(r.client, SLOW)["fail"]["count"] == 1:
                return  # the server has dropped it while the first one runs on
            time.sleep(0.01)
        raise AssertionError("the server keeps the request")


@check
def priorities():
    for delay in (500, 2000, 8000):
        with busy(delay, priority_levels=2, default_priority_level=2) as r:
            begun = time.monotonic()
            r.send("low")
            time.sleep(0.05)
            r.send("high", priority=1)
            time.sleep(0.05)
            took = time.monotonic() - begun
            ended = [name for name, error in r.wait(3) if not error]
        if took < delay / 4000:  # both waited while the first one ran
            assert ended == ["first", "high", "low"], ended
            return
    raise AssertionError("this machine is too slow")
