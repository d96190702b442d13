"""gRPC streams, also of decoupled models."""

import contextlib
import queue

from harness import check, grpc, grpcclient, needs, repeat_inputs, simple_inputs


class Stream:
    """One stream of a client; answers come in order of arrival from next."""

    def __init__(self, client, **kwargs):
        self.client, self.answers = client, queue.Queue()
        client.start_stream(callback=lambda result, error: self.answers.put((result, error)), **kwargs)

    def send(self, model, inputs, **kwargs):
        self.client.async_stream_infer(model, inputs, **kwargs)

    def next(self, timeout=30):
        return self.answers.get(timeout=timeout)

    def result(self):
        result, error = self.next()
        assert error is None, error
        return result


@contextlib.contextmanager
def stream(**kwargs):
    with grpc() as client:
        yield Stream(client, **kwargs)
        client.stop_stream()


def is_final(result):
    p = result.get_response().parameters
    return "triton_final_response" in p and p["triton_final_response"].bool_param


@check
def stream_of_an_ordinary_model():
    with stream() as s:
        a, b, inputs = simple_inputs(grpcclient)
        for i in range(20):
            s.send("simple", inputs, request_id=str(i))
        got = [s.result() for _ in range(20)]
        assert all((r.as_numpy("OUTPUT0") == a + b).all() for r in got)
        assert sorted(int(r.get_response().id) for r in got) == list(range(20))


@check
def stream_of_several_models():
    with stream() as s:
        a, b, inputs = simple_inputs(grpcclient)
        s.send("repeat_int32", repeat_inputs([1, 2, 3]), request_id="repeat")
        s.send("simple", inputs, request_id="simple")
        got = [s.result().get_response() for _ in range(4)]
        assert sorted(r.id for r in got) == ["repeat", "repeat", "repeat", "simple"], got
        assert {r.model_name for r in got} == {"repeat_int32", "simple"}


@check
def decoupled_answers_keep_their_order():
    with stream() as s:
        s.send("repeat_int32", repeat_inputs(list(range(100))))
        got = [s.result() for _ in range(100)]
        assert [int(r.as_numpy("OUT")[0]) for r in got] == list(range(100))
        assert [int(r.as_numpy("IDX")[0]) for r in got] == list(range(100))


@check
def empty_final_response():
    with stream() as s:
        with needs("enable_empty_final_response"):
            s.send("repeat_int32", repeat_inputs([8, 9]), request_id="r", enable_empty_final_response=True)
        got = [s.result() for _ in range(3)]
        assert [is_final(r) for r in got] == [False, False, True]
        last = got[-1].get_response()
        assert last.id == "r" and not last.outputs, last


@check
def a_request_without_answers():
    with stream() as s:
        with needs("enable_empty_final_response"):
            s.send("repeat_int32", repeat_inputs([]), enable_empty_final_response=True)
        r = s.result()
        assert is_final(r) and not r.get_response().outputs


@check
def ordinary_answers_are_final():
    with stream() as s:
        _, _, inputs = simple_inputs(grpcclient)
        with needs("enable_empty_final_response"):
            s.send("simple", inputs, enable_empty_final_response=True)
        r = s.result()
        assert is_final(r) and r.as_numpy("OUTPUT0") is not None


@check
def errors_do_not_end_a_stream():
    with stream() as s:
        a, b, inputs = simple_inputs(grpcclient)
        s.send("simple", inputs[:1], request_id="wrong")
        result, error = s.next()
        assert result is None and "expected 2 inputs but got 1 inputs for model 'simple'" in error.message(), error
        s.send("no_such", inputs)
        result, error = s.next()
        assert "Request for unknown model: 'no_such' is not found" in error.message(), error
        s.send("simple", inputs)
        assert (s.result().as_numpy("OUTPUT0") == a + b).all()


@check
def sequences_in_a_stream():
    with stream() as s:
        a, b, inputs = simple_inputs(grpcclient)
        for i in range(5):
            s.send("simple", inputs, sequence_id=1000, sequence_start=i == 0, sequence_end=i == 4)
        assert all((s.result().as_numpy("OUTPUT0") == a + b).all() for _ in range(5))


@check
def answers_may_be_late():
    with stream() as s:
        s.send("repeat_int32", repeat_inputs([1, 2, 3], delay_ms=30, wait_ms=10))
        assert [int(s.result().as_numpy("OUT")[0]) for _ in range(3)] == [1, 2, 3]


@check
def deadline_of_a_stream():
    with stream(stream_timeout=1) as s:
        s.send("repeat_int32", repeat_inputs([1, 2], delay_ms=20000))
        while True:
            result, error = s.next()
            if error is not None:
                break
        assert "Deadline Exceeded" in error.message() or "RST_STREAM" in error.message(), error


@check
def compressed_stream():
    with stream(compression_algorithm="gzip") as s:
        a, b, inputs = simple_inputs(grpcclient, 8)
        s.send("simple", inputs)
        assert (s.result().as_numpy("OUTPUT0") == a + b).all()


@check
def two_streams_of_two_clients():
    with stream() as x, stream() as y:
        x.send("repeat_int32", repeat_inputs([1] * 20))
        y.send("repeat_int32", repeat_inputs([2] * 20))
        assert {int(x.result().as_numpy("OUT")[0]) for _ in range(20)} == {1}
        assert {int(y.result().as_numpy("OUT")[0]) for _ in range(20)} == {2}
