import json, time, threading
import numpy as np
import triton_python_backend_utils as pb_utils

FINAL = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL

class TritonPythonModel:
    """Runs the script in input S: words; d<n> waits n units of 100 ms, r sends the
    next number, R the same as the last, e an error, E the same as the last, f the end alone,
    P the request's parameters as an error, x raises."""

    def initialize(self, args):
        self.decoupled = pb_utils.using_decoupled_model_transaction_policy(json.loads(args["model_config"]))

    def execute(self, requests):
        for r in requests:
            script = pb_utils.get_input_tensor_by_name(r, "S").as_numpy().reshape(-1)[0].decode()
            if "x" in script.split():
                raise Exception("raised")
            threading.Thread(target=self.play, args=(script, r, r.get_response_sender(), r.parameters())).start()
        return None

    def play(self, script, r, sender, params):
        n = 0
        for w in script.split():
            if w[0] == "d":
                for _ in range(int(w[1:]) * 10):
                    time.sleep(0.01)
                    if r.is_cancelled():
                        break
                continue
            if w == "f":
                sender.send(flags=FINAL)
                continue
            flags = FINAL if w.isupper() else 0
            k = w.lower()
            if k == "e":
                resp = pb_utils.InferenceResponse(error=pb_utils.TritonError("failed %d" % n, pb_utils.TritonError.UNAVAILABLE))
            elif k == "p":
                resp = pb_utils.InferenceResponse(error=pb_utils.TritonError("got " + params))
            else:
                resp = pb_utils.InferenceResponse([pb_utils.Tensor("N", np.array([n], np.int32))])
            n += 1
            sender.send(resp, flags=flags)
