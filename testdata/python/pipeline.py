"""Drives ensemble_pipeline with NVIDIA's Python client: pipeline.py HTTP GRPC MODELS

The server has loaded the models of `triton repo example --pipeline`, with model control. An answer is right
when it equals what the steps give one after the other, each text alone.
"""

import importlib.util
import json
import os
import sys
import time
import types
from concurrent.futures import ThreadPoolExecutor

import harness
import interop
import numpy as np
from harness import INVALID, MODELS, both, check, expect_error, grpc, grpcclient, http, httpclient, tensor

harness.checks.clear()  # those of interop
PIPELINE, STEPS = "ensemble_pipeline", ("tokenizer", "bert_model", "postprocessor")
WORDS = "the movie was really good but long and boring, walking out would be fun! 42 naïve people ÄÖ".split()
TEXTS = [" ".join(WORDS[i % len(WORDS)] for i in range(n, n + 1 + n * n % 23)) for n in range(40)]


def code(model):
    """Imports the model.py of a step. Outside the server it needs a stand-in for pb_utils."""
    sys.modules.setdefault("triton_python_backend_utils", types.ModuleType("triton_python_backend_utils"))
    spec = importlib.util.spec_from_file_location(model, os.path.join(MODELS, model, "1", "model.py"))
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module


VOCABULARY = os.path.join(MODELS, "tokenizer", "1", "vocab.txt")
tokenizer = code("tokenizer").Tokenizer(VOCABULARY, 64)


def numbers(text):
    found = tokenizer.encode(text)
    return found + [0] * (64 - len(found))


def direct(texts):
    """Returns the predictions for texts, computed step by step."""
    softmax = code("postprocessor").softmax
    with grpc() as client:
        ask = lambda t: client.infer("bert_model", [tensor(grpcclient, "input_ids", np.array([numbers(t)]), "INT64")])
        return np.concatenate([softmax(ask(t).as_numpy("logits")) for t in texts])


def request(module, texts, **kwargs):
    raw = [t if isinstance(t, bytes) else t.encode() for t in texts]
    return [tensor(module, "raw_text", np.array(raw, object).reshape(-1, 1), "BYTES", **kwargs)]


def equal(got, want):
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


def batches(model):
    """Returns the executions of a model by batch size."""
    with http() as client:
        stats = client.get_inference_statistics(model)["model_stats"][0]["batch_stats"]
    return {s["batch_size"]: s["compute_infer"]["count"] for s in stats}


@check
def word_pieces():
    with open(VOCABULARY, encoding="utf-8") as f:
        pieces = f.read().split("\n")
    for text, want in {
        "A really good movie": "[CLS] a really good movie [SEP]",
        "walking, naïve": "[CLS] w ##a ##l ##k ##ing , [UNK] [SEP]",
        "": "[CLS] [SEP]",
        "good " * 200: "[CLS]" + " good" * 62 + " [SEP]",
    }.items():
        assert " ".join(pieces[n] for n in tokenizer.encode(text)) == want, text
        with http() as client:
            r = client.infer("tokenizer", [tensor(httpclient, "text", np.array([[text.encode()]], object), "BYTES")])
        assert r.as_numpy("tokens").tolist() == [numbers(text)], text


@both
def answers(module, client):
    want = direct(TEXTS)
    equal(client.infer(PIPELINE, request(module, TEXTS)).as_numpy("predictions"), want)
    for i in range(0, len(TEXTS), 13):
        got = client.infer(PIPELINE, request(module, TEXTS[i : i + 1])).as_numpy("predictions")
        equal(got, want[i : i + 1])
        np.testing.assert_allclose(got.sum(axis=1), 1, rtol=1e-5)


@check
def answers_as_json():
    with http() as client:
        wanted = [httpclient.InferRequestedOutput("predictions", binary_data=False)]
        r = client.infer(PIPELINE, request(httpclient, TEXTS[:5], binary_data=False), outputs=wanted)
    equal(r.as_numpy("predictions"), direct(TEXTS[:5]))


@check
def load_of_many_clients():
    """Every answer is right, and each step ran batches of several requests."""
    want = direct(TEXTS)

    def ask(number):
        module, make = ((httpclient, http), (grpcclient, grpc))[number % 2]
        right = 0
        with make() as client:
            for k in range(10):
                first = (number + 7 * k) % (len(TEXTS) - 3)
                rows = 1 + k % 3
                got = client.infer(PIPELINE, request(module, TEXTS[first : first + rows])).as_numpy("predictions")
                equal(got, want[first : first + rows])
                right += 1
        return right

    for _ in range(20):  # the first round does, unless the machine runs the clients one after the other
        before = {m: batches(m) for m in STEPS}
        with ThreadPoolExecutor(16) as pool:
            assert sum(pool.map(ask, range(16))) == 16 * 10
        joined = {m: [s for s, n in batches(m).items() if s > 3 and n > before[m].get(s, 0)] for m in STEPS}
        if all(joined.values()):
            return
    raise AssertionError(f"no batch of several requests: {joined}")


@both
def a_text_that_a_step_refuses(module, client):
    """Fails alone: requests in the same batch are answered."""
    want = direct(TEXTS[:1])

    def ask(i):
        with module.InferenceServerClient(harness.CLIENTS[module.__name__.rpartition(".")[2]][1]) as own:
            if i % 2:
                equal(own.infer(PIPELINE, request(module, TEXTS[:1])).as_numpy("predictions"), want)
                return
            broken = request(module, ["good", b"caf\xe9"])
            text = "in ensemble 'ensemble_pipeline', text 1 is not UTF-8: 'utf-8' codec can't decode byte 0xe9"
            expect_error(lambda: own.infer(PIPELINE, broken), text, status=INVALID)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, range(32)))


BROKEN = "class TritonPythonModel:\n    def execute(self, requests):\n        %s\n"


@check
def a_step_that_fails():
    """An exception and the end of a process are errors of the request. Then the model is replaced."""
    with http() as client:
        config = client.get_model_config("postprocessor")

        def load(source):
            client.load_model("postprocessor", config=json.dumps(config), files={"file:1/model.py": source.encode()})

        load(BROKEN % "raise KeyError('weights')")
        expect_error(
            lambda: client.infer(PIPELINE, request(httpclient, ["good"])),
            "in ensemble 'ensemble_pipeline', Failed to process the request(s) for model 'postprocessor",
            "KeyError: 'weights'",
        )
        load(BROKEN % "import os; os._exit(9)")
        expect_error(
            lambda: client.infer(PIPELINE, request(httpclient, ["good"])),
            "in ensemble 'ensemble_pipeline', Stub process 'postprocessor", "exited with code 9",
        )
        assert client.is_server_live()
        assert len(direct(["good"])) == 1, "the other steps serve"
        client.load_model("postprocessor")
        for _ in range(500):  # the ensemble is checked again with the model
            if client.is_model_ready(PIPELINE):
                break
            time.sleep(0.02)
        equal(client.infer(PIPELINE, request(httpclient, ["good"])).as_numpy("predictions"), direct(["good"]))


if __name__ == "__main__":
    sys.exit(interop.main())
