"""The last step of ocr: what text_recognition found, as text."""

import ocr
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        self.characters = ocr.load_characters(pb_utils.get_model_dir())

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        probabilities, boxes = (
            pb_utils.get_input_tensor_by_name(request, name).as_numpy() for name in ("probabilities", "line_box")
        )
        texts, scores = ocr.read_lines(probabilities, self.characters)
        found = ocr.results(texts, scores, boxes)
        return pb_utils.InferenceResponse([pb_utils.Tensor(name, array) for name, array in found.items()])
