"""The generate extension, by plain HTTP."""

import json
import urllib.error
import urllib.request

from harness import HTTP, check

REPEAT = {"IN": [4, 5, 6], "DELAY": [0, 0, 0], "WAIT": 0}


def post(path, body, **headers):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        return urllib.request.urlopen(urllib.request.Request(f"http://{HTTP}/v2/models/{path}", data, headers), timeout=30)
    except urllib.error.HTTPError as e:
        return e


def events(response):
    return [json.loads(line[len("data: ") :]) for line in response.read().decode().split("\n\n") if line]


@check
def generate_once():
    with post("identity_string/generate", {"INPUT0": "hello"}) as r:
        assert r.status == 200 and r.headers["Content-Type"] == "application/json"
        got = json.load(r)
    assert got == {"model_name": "identity_string", "model_version": "1", "OUTPUT0": "hello"}, got


@check
def generate_of_a_version_with_an_id():
    with post("identity_string/versions/1/generate", {"id": "g1", "INPUT0": ["a", "b"], "parameters": {"unused": 1}}) as r:
        got = json.load(r)
    assert got["OUTPUT0"] == ["a", "b"] and got.get("id") == "g1", got


@check
def generate_stream():
    with post("repeat_int32/generate_stream", REPEAT) as r:
        assert r.status == 200 and r.headers["Content-Type"].startswith("text/event-stream"), r.headers
        got = events(r)
    assert [e["OUT"] for e in got] == [4, 5, 6] and [e["IDX"] for e in got] == [0, 1, 2], got


@check
def generate_stream_sends_each_response_at_once():
    """The second response is due in ten minutes; the client disconnects before."""
    body = {"IN": [1, 2], "DELAY": [0, 600000], "WAIT": 0}
    with post("repeat_int32/generate_stream", body) as r:
        assert json.loads(r.readline()[len("data: ") :])["OUT"] == 1


@check
def generate_of_many_answers():
    with post("repeat_int32/generate", REPEAT) as r:
        assert r.status == 200, r.status  # as Triton
        assert "generate expects model to produce exactly 1 response" in json.load(r)["error"]


@check
def generate_errors():
    for path, body, status, text in (
        ("no_such/generate", {"INPUT0": "x"}, 404, "unknown model"),
        ("identity_string/generate", b"{", 400, "failed to parse the request JSON buffer"),
        ("identity_string/generate", {"INPUT0": 5}, 400, "attempt to access JSON non-string as string"),
        ("identity_string/generate", {}, 400, "expected 1 inputs but got 0 inputs for model 'identity_string'"),
    ):
        with post(path, body) as r:
            error = r.read().decode()
            assert text in error, (path, body, r.status, error)
            assert r.status == status, (path, body, r.status, error)


@check
def generate_stream_errors():
    with post("repeat_int32/generate_stream", {"IN": [1]}) as r:
        error = r.read().decode()
        assert "expected 3 inputs but got 1 inputs for model 'repeat_int32'" in error, (r.status, error)
