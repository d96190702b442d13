"""The third step of ocr: the lines of text in a picture."""

import json

import numpy as np
import ocr
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        self.most_lines = int(config["parameters"]["most_lines"]["string_value"])

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        picture, probabilities = (
            pb_utils.get_input_tensor_by_name(request, name).as_numpy() for name in ("picture", "probabilities")
        )
        boxes = ocr.find_lines(probabilities[0, 0], *picture.shape[:2])
        if len(boxes) > self.most_lines:
            text = f"the picture has {len(boxes)} lines of text, more than {self.most_lines}: "
            text += "ask ocr_bls, or send parts of it"
            return pb_utils.InferenceResponse(error=pb_utils.TritonError(text, pb_utils.TritonError.INVALID_ARG))
        # The steps of an ensemble cannot be skipped: without text the next one gets an empty corner.
        x = ocr.recognizer_input(picture, boxes or [(0, 0, 1, 1)])
        box = np.array(boxes, np.int32).reshape(-1, 4)
        return pb_utils.InferenceResponse([pb_utils.Tensor("x", x), pb_utils.Tensor("box", box)])
