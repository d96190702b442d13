package main_test

// The models of the questions about ensembles and sequences.

// twice adds and subtracts two times over.
const twice = `platform: "ensemble"
max_batch_size: 8
input [ { name: "A" data_type: TYPE_INT32 dims: [ 16 ] }, { name: "B" data_type: TYPE_INT32 dims: [ 16 ] } ]
output [ { name: "TWICE_A" data_type: TYPE_INT32 dims: [ 16 ] }, { name: "TWICE_B" data_type: TYPE_INT32 dims: [ 16 ] }, { name: "SUM" data_type: TYPE_INT32 dims: [ 16 ] } ]
ensemble_scheduling {
  step {
    model_name: "simple" model_version: -1
    input_map [ { key: "INPUT0" value: "A" }, { key: "INPUT1" value: "B" } ]
    output_map [ { key: "OUTPUT0" value: "SUM" }, { key: "OUTPUT1" value: "difference" } ]
  }
  step {
    model_name: "simple" model_version: -1
    input_map [ { key: "INPUT0" value: "SUM" }, { key: "INPUT1" value: "difference" } ]
    output_map [ { key: "OUTPUT0" value: "TWICE_A" }, { key: "OUTPUT1" value: "TWICE_B" } ]
  }
}
`

// identityEach is slow: the model before it has sent its final response by then.
const identityEach = `backend: "identity"
input { name: "INPUT0" data_type: TYPE_INT32 dims: [ 1 ] }
output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 1 ] }
instance_group [ { kind: KIND_CPU } ]
parameters { key: "execute_delay_ms" value { string_value: "20" } }
`

// each sends one response for each value.
const each = `platform: "ensemble"
input [ { name: "VALUES" data_type: TYPE_INT32 dims: [ -1 ] }, { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1 ] }, { name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] } ]
output { name: "VALUE" data_type: TYPE_INT32 dims: [ 1 ] }
ensemble_scheduling {
  step {
    model_name: "repeat_int32" model_version: -1
    input_map [ { key: "IN" value: "VALUES" }, { key: "DELAY" value: "DELAY" }, { key: "WAIT" value: "WAIT" } ]
    output_map { key: "OUT" value: "one" }
  }
  step { model_name: "identity_each" model_version: -1 input_map { key: "INPUT0" value: "one" } output_map { key: "OUTPUT0" value: "VALUE" } }
}
`

const identityRow = `backend: "identity"
max_batch_size: 2
input { name: "INPUT0" data_type: TYPE_INT32 dims: [ -1 ] }
output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ -1 ] }
instance_group [ { kind: KIND_CPU } ]
`

// runningSum keeps sequences: the sum of all elements so far.
const runningSum = `backend: "sequence"
max_batch_size: 2
input { name: "INPUT" data_type: TYPE_INT32 dims: [ -1 ] }
output { name: "OUTPUT" data_type: TYPE_INT32 dims: [ -1 ] }
sequence_batching {
  max_sequence_idle_microseconds: 60000000
  direct { }
  control_input { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } }
  control_input { name: "READY" control { kind: CONTROL_SEQUENCE_READY int32_false_true: [ 0, 1 ] } }
}
instance_group [ { kind: KIND_CPU } ]
`

// total is an ensemble of a model without sequences and a sequence model behind it.
const total = `platform: "ensemble"
max_batch_size: 2
input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }
output { name: "TOTAL" data_type: TYPE_INT32 dims: [ -1 ] }
ensemble_scheduling {
  step { model_name: "identity_row" model_version: -1 input_map { key: "INPUT0" value: "IN" } output_map { key: "OUTPUT0" value: "row" } }
  step { model_name: "running_sum" model_version: -1 input_map { key: "INPUT" value: "row" } output_map { key: "OUTPUT" value: "TOTAL" } }
}
`

const standInSum = `import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        self.sums = [0, 0]

    def execute(self, requests):
        answers = []
        for row, r in enumerate(requests):
            get = lambda n: pb_utils.get_input_tensor_by_name(r, n).as_numpy()
            out = np.zeros_like(get("INPUT"))
            if get("READY").item():
                if get("START").item():
                    self.sums[row] = 0
                self.sums[row] += int(get("INPUT").sum())
                out += np.int32(self.sums[row])
            answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT", out)]))
        return answers
`
