"""A model that returns its input, doubled. Change it to what the model computes."""

import json

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        """Runs once in each instance: load weights here."""
        config = json.loads(args["model_config"])
        output = pb_utils.get_output_config_by_name(config, "OUT")
        self.dtype = pb_utils.triton_string_to_numpy(output["data_type"])

    def execute(self, requests):
        """Answers a batch: one response for each request, in their order."""
        responses = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "IN").as_numpy()
            y = (2 * x).astype(self.dtype)
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.ascontiguousarray(y))]))
        return responses

    def finalize(self):
        """Runs once when the instance ends."""
