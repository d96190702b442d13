"""The tokenizer of ensemble_pipeline: splits texts into word pieces as BERT does.

It needs only numpy. To use the tokenizer of your model instead, make it in initialize() and call it in
encode(); a requirements.txt in the model's folder names the packages (parameter python_requirements).
"""

import functools
import json
import os
import re

import numpy as np
import triton_python_backend_utils as pb_utils

WORD = re.compile(r"[^\W_]+|\S")  # letters and digits, or one other sign


class Tokenizer:
    """Word pieces of a vocabulary: a file with one piece in each line, whose number is that of its line.

    A word is split from its front into the longest known pieces; those that do not begin a word have the
    prefix ##. A word that cannot be split is [UNK].
    """

    def __init__(self, vocabulary, length):
        with open(vocabulary, encoding="utf-8") as f:
            self.numbers = {line.rstrip("\n"): number for number, line in enumerate(f)}
        self.begin, self.end, self.unknown = (self.numbers[piece] for piece in ("[CLS]", "[SEP]", "[UNK]"))
        self.length = length
        self.split = functools.lru_cache(maxsize=100_000)(self.split)  # few words make most of all texts

    def split(self, word):
        """Returns the numbers of the pieces of a word."""
        pieces, start = [], 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                number = self.numbers.get(prefix + word[start:end])
                if number is not None:
                    break
            else:
                return (self.unknown,)
            pieces.append(number)
            start = end
        return tuple(pieces)

    def encode(self, text):
        """Returns the numbers of a text between [CLS] and [SEP], at most `length` of them."""
        numbers = [self.begin]
        for word in WORD.finditer(text.lower()):
            numbers += self.split(word.group()[:100])  # the limit bounds the time for a word
            if len(numbers) >= self.length:
                break
        return [*numbers[: self.length - 1], self.end]


class TritonPythonModel:
    def initialize(self, args):
        """Runs once in each instance. What needs long to load belongs here."""
        config = json.loads(args["model_config"])
        self.output = pb_utils.get_output_config_by_name(config, "tokens")
        self.dtype = pb_utils.triton_string_to_numpy(self.output["data_type"])
        here = os.path.join(args["model_repository"], args["model_version"])
        self.tokenizer = Tokenizer(os.path.join(here, "vocab.txt"), length=int(self.output["dims"][0]))

    def execute(self, requests):
        """Answers a batch: one response for each request, in their order."""
        return [self.answer(request) for request in requests]

    def answer(self, request):
        # Strings are bytes objects in an array of the shape [rows, 1].
        texts = pb_utils.get_input_tensor_by_name(request, "text").as_numpy()
        tokens = np.zeros((len(texts), self.tokenizer.length), self.dtype)
        for row, raw in enumerate(texts[:, 0]):
            try:
                numbers = self.tokenizer.encode(raw.decode())
            except UnicodeDecodeError as e:
                # Only this request fails. An exception would fail all requests of the batch.
                error = pb_utils.TritonError(f"text {row} is not UTF-8: {e}", pb_utils.TritonError.INVALID_ARG)
                return pb_utils.InferenceResponse(error=error)
            tokens[row, : len(numbers)] = numbers
        return pb_utils.InferenceResponse([pb_utils.Tensor("tokens", tokens)])
