package modelconfig_test

import (
	"errors"
	"fmt"
	"testing/fstest"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

// Read a configuration, complete it and check it.
func ExampleParse() {
	config, err := modelconfig.Parse("config.pbtxt", []byte(`
name: "detector"
backend: "onnxruntime"
max_batch_size: 4
input { name: "image" data_type: TYPE_FP32 dims: [ 3, 224, 224 ] }
output { name: "boxes" data_type: TYPE_FP32 dims: [ -1, 4 ] }
dynamic_batching { preferred_batch_size: [ 8 ] }
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	// The files of the model decide what the text leaves open.
	if err := config.Detect("detector", fstest.MapFS{"1/model.onnx": {}}); err != nil {
		fmt.Println(err)
		return
	}
	config.Normalize()
	for _, f := range config.Validate() {
		fmt.Printf("line %d: %s [%s]\n", f.Pos.Line, f.Msg, f.Rule)
	}
	// Output:
	// line 7: dynamic batching preferred size must be <= max batch size for detector [TRN302]
}

// Every mistake in the text has a position and a hint.
func ExampleSyntaxErrors() {
	_, err := modelconfig.Parse("config.pbtxt", []byte(`name: "m"
max_batchsize: 8
input { data_type: FP32 }
`))
	var mistakes modelconfig.SyntaxErrors
	if errors.As(err, &mistakes) {
		for _, m := range mistakes {
			fmt.Println(m)
		}
	}
	// Output:
	// config.pbtxt:2:1: Message type "inference.ModelConfig" has no field named "max_batchsize"; did you mean "max_batch_size"?
	// config.pbtxt:3:20: Unknown enumeration value of "FP32" for field "data_type"; did you mean "TYPE_FP32"?
}

// Write a configuration as config.pbtxt.
func ExampleEncode() {
	text := modelconfig.Encode(&inferencepb.ModelConfig{
		Name: "echo", Backend: "identity", MaxBatchSize: 8,
		Input: []*inferencepb.ModelInput{{Name: "INPUT0", DataType: inferencepb.DataType_TYPE_FP32, Dims: []int64{-1}}},
	})
	fmt.Printf("%s", text)
	// Output:
	// name: "echo"
	// backend: "identity"
	// max_batch_size: 8
	// input {
	//   name: "INPUT0"
	//   data_type: TYPE_FP32
	//   dims: [ -1 ]
	// }
}

// Choose the versions to serve.
func ExampleSelect() {
	policy := &inferencepb.ModelVersionPolicy{PolicyChoice: &inferencepb.ModelVersionPolicy_Latest_{
		Latest: &inferencepb.ModelVersionPolicy_Latest{NumVersions: 2},
	}}
	chosen, missing := modelconfig.Select(policy, []int64{1, 2, 10})
	fmt.Println(chosen, missing)
	// Output: [10 2] []
}
