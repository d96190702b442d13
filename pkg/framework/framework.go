// Package framework reads what the files of PyTorch, TensorFlow and OpenVINO say about the inputs
// and outputs of a model, without their libraries. ONNX files are read by pkg/onnxmodel.
package framework

import (
	"os"
	"path/filepath"

	"triton/pkg/inferencepb"
)

// Model is what the file or the folder of a framework says about a model.
type Model struct {
	Backend, Platform string
	Inputs, Outputs   []Tensor
	Parameters        map[string]string // of the configuration
	// Weights is the file with the weights, if they are not in the model's own.
	Weights string
	// Untyped reports that the file does not say the types of tensors.
	Untyped bool
	Notes   []string
}

// Tensor is an input or an output. Dims include the dimension of the batch; those of a tensor of
// unknown rank are an example without it.
type Tensor struct {
	Name    string
	Type    inferencepb.DataType
	Dims    []int64
	Unknown bool // the rank is
}

// SavedModelFile is the file of a SavedModel's folder with its signatures.
const SavedModelFile = "saved_model.pb"

// Read reads a SavedModel's folder, an OpenVINO IR (.xml), or else a TorchScript archive.
func Read(path string) (*Model, error) {
	var d *described
	var err error
	switch info, failed := os.Stat(path); {
	case failed != nil:
		return nil, failed
	case info.IsDir():
		d, err = describeSavedModel(path)
	case filepath.Ext(path) == ".xml":
		d, err = describeOpenVINO(path)
	default:
		d, err = describeTorchScript(path)
	}
	if err != nil {
		return nil, err
	}
	return &Model{
		Backend: d.backend, Platform: d.platform, Inputs: exported(d.inputs), Outputs: exported(d.outputs),
		Parameters: d.parameters, Weights: d.weights, Untyped: d.backend == "pytorch", Notes: d.notes,
	}, nil
}

// described is a Model in the making.
type described struct {
	backend, platform string
	inputs, outputs   []namedTensor
	parameters        map[string]string
	weights           string
	notes             []string
}

type namedTensor struct {
	name    string
	kind    inferencepb.DataType
	dims    []int64
	unknown bool
}

// unknownRank returns a tensor of unknown rank.
func unknownRank(name string, kind inferencepb.DataType) namedTensor {
	return namedTensor{name, kind, []int64{-1}, true}
}

func exported(all []namedTensor) []Tensor {
	var list []Tensor
	for _, t := range all {
		list = append(list, Tensor{t.name, t.kind, t.dims, t.unknown})
	}
	return list
}
