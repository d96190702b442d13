package main_test

import "maps"

// The models for requests about single fields of a configuration, one of each kind.
// Their names contain the backend, so that a configuration that comes with a load need
// not: NVIDIA's server finds the Python model.
var fieldModels = map[string]string{
	"identity_plain.identity":    fieldsPlain,
	"identity_sequence.identity": fieldsPlain + "sequence_batching { }\n",
	"open.repeat": `input [ { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }, { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1 ] }, { name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] } ]
output [ { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }, { name: "IDX" data_type: TYPE_UINT32 dims: [ 1 ] } ]
model_transaction_policy { decoupled: true }
instance_group [ { kind: KIND_CPU } ]
`,
	"whole": `platform: "ensemble"
max_batch_size: 2
input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }
output { name: "OUT" data_type: TYPE_INT32 dims: [ -1 ] }
ensemble_scheduling { step { model_name: "identity_row" model_version: -1 input_map { key: "INPUT0" value: "IN" } output_map { key: "OUTPUT0" value: "OUT" } } }
`,
}

const fieldsPlain = `max_batch_size: 2
input { name: "INPUT0" data_type: TYPE_INT32 dims: [ -1 ] }
output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ -1 ] }
instance_group [ { kind: KIND_CPU } ]
`

func init() {
	maps.Copy(builtIn, fieldModels)
	standInsOf["open.repeat"] = standInRepeat
}
