"""The first step of ocr: image files to pixels."""

import ocr
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        ocr.load_pillow()  # if it is missing, the model does not load, and the reason is in the log

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        image = pb_utils.get_input_tensor_by_name(request, "image").as_numpy()
        try:
            picture = ocr.decode(image[0])
        except ValueError as e:  # the client's mistake: an answer, no traceback in the log
            return pb_utils.InferenceResponse(error=pb_utils.TritonError(str(e), pb_utils.TritonError.INVALID_ARG))
        return pb_utils.InferenceResponse([
            pb_utils.Tensor("picture", picture),
            pb_utils.Tensor("x", ocr.detector_input(picture)),
        ])
