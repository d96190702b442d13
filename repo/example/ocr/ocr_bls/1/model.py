"""Reads the text of pictures by requests to text_detection and text_recognition."""

import json

import ocr
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        ocr.load_pillow()  # if it is missing, the model does not load, and the reason is in the log
        self.characters = ocr.load_characters(pb_utils.get_model_dir())
        config = json.loads(args["model_config"])
        self.most_lines = int(config["parameters"]["most_lines"]["string_value"])

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        image = pb_utils.get_input_tensor_by_name(request, "image").as_numpy()
        try:
            found = self.read(ocr.decode(image[0]))
        except ValueError as e:  # the client's mistake: an answer, no traceback in the log
            return pb_utils.InferenceResponse(error=pb_utils.TritonError(str(e), pb_utils.TritonError.INVALID_ARG))
        except pb_utils.TritonModelException as e:
            return pb_utils.InferenceResponse(error=pb_utils.TritonError(str(e)))
        return pb_utils.InferenceResponse([pb_utils.Tensor(name, array) for name, array in found.items()])

    def read(self, picture):
        """Returns the outputs by name."""
        detected = self.call("text_detection", ocr.detector_input(picture), "sigmoid_0.tmp_0")
        boxes = ocr.find_lines(detected[0, 0], *picture.shape[:2])
        texts, scores = [], []
        for first in range(0, len(boxes), self.most_lines):
            x = ocr.recognizer_input(picture, boxes[first : first + self.most_lines])
            recognized = self.call("text_recognition", x, "softmax_11.tmp_0")
            more = ocr.read_lines(recognized, self.characters)
            texts += more[0]
            scores += more[1]
        return ocr.results(texts, scores, boxes)

    def call(self, model, x, output):
        """Returns an output of a model. Its error is a TritonModelException."""
        request = pb_utils.InferenceRequest(
            model_name=model, inputs=[pb_utils.Tensor("x", x)], requested_output_names=[output]
        )
        response = request.exec()
        if response.has_error():
            raise pb_utils.TritonModelException(f"{model}: {response.error().message()}")
        return pb_utils.get_output_tensor_by_name(response, output).as_numpy()
