package native

import (
	"fmt"
	"slices"
	"strings"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
)

// OpenVINO is the name of a backend.
const OpenVINO = "openvino"

// openVINO is the native form of the backend "openvino": models in OpenVINO's IR, ONNX files and what
// else the library reads, through its C API. Configurations are those of the form in Python (package
// python), which runs models if the library cannot be opened.
type openVINO struct{ search Search }

var _ Engine = (*openVINO)(nil)

// NewOpenVINO returns the engine of the backend "openvino"; search says where to look for the library.
func NewOpenVINO(search Search) Engine { return &openVINO{search} }

var openVINOLibrary = library{
	Name: "OpenVINO", Backend: OpenVINO, Pattern: "libopenvino_c.so*", Variable: "TRITON_OPENVINO_LIBRARY", Package: "openvino", Inside: "openvino/libs",
}

// openVINOTypes are the element types by OpenVINO's numbers of release 2026; earlier releases have
// others.
var openVINOTypes = map[int]tensor.DataType{
	1: tensor.Bool, 2: tensor.BF16, 3: tensor.FP16, 4: tensor.FP32, 5: tensor.FP64, 7: tensor.Int8, 8: tensor.Int16, 9: tensor.Int32,
	10: tensor.Int64, 16: tensor.Uint8, 17: tensor.Uint16, 18: tensor.Uint32, 19: tensor.Uint64, 23: tensor.Bytes,
}

// openVINORelease is the release whose numbers of types are known.
const openVINORelease = "2026."

// port is an input or output of a model.
type port struct {
	modelTensor
	names []string // its name, and input_<i> or output_<i>
	ranks bool     // the number of dimensions is known
}

// openVINOOptions are what the parameters of a model ask for.
type openVINOOptions struct {
	properties [][2]string
	device     string
	extension  string
	reshape    bool // the inputs get the shapes of the configuration
	fixed      bool // a fixed first dimension stays
}

// openVINOProperties are the parameters that are properties of the compiled model.
var openVINOProperties = []string{"PERFORMANCE_HINT", "INFERENCE_NUM_THREADS", "COMPILATION_NUM_THREADS", "NUM_STREAMS"}

// parseOpenVINOOptions reads the parameters. Without any, each of the instances has a stream of its
// own, and all of them together the processors of the server.
func parseOpenVINOOptions(spec backend.Spec, instances int) openVINOOptions {
	c := spec.Config
	o := openVINOOptions{
		device: parameter(c, "TARGET_DEVICE"), extension: parameter(c, "CPU_EXTENSION_PATH"),
		reshape: flagParameter(c, "RESHAPE_IO_LAYERS"), fixed: flagParameter(c, "SKIP_OV_DYNAMIC_BATCHSIZE"),
	}
	if o.device == "" {
		o.device = "CPU"
	}
	set := map[string]bool{}
	for _, key := range openVINOProperties {
		if v := parameter(c, key); v != "" {
			o.properties = append(o.properties, [2]string{key, v})
			set[key] = true
		}
	}
	if flagParameter(c, "HINT_BF16") {
		o.properties = append(o.properties, [2]string{"INFERENCE_PRECISION_HINT", "bf16"})
	}
	if o.device != "CPU" || set["PERFORMANCE_HINT"] {
		return o
	}
	if !set["NUM_STREAMS"] {
		o.properties = append(o.properties, [2]string{"NUM_STREAMS", fmt.Sprint(max(instances, 1))})
	}
	if !set["INFERENCE_NUM_THREADS"] {
		o.properties = append(o.properties, [2]string{"INFERENCE_NUM_THREADS", fmt.Sprint(max(spec.CPUs, instances, 1))})
	}
	return o
}

// shapes returns the shapes that the inputs get before the model is compiled; nil: their own.
func (o openVINOOptions) shapes(spec backend.Spec, inputs []port) ([]tensor.Shape, error) {
	batching := spec.Config.GetMaxBatchSize() > 0
	var shapes []tensor.Shape
	changed := o.reshape
	for _, p := range inputs {
		s := slices.Clone(p.Dims)
		switch {
		case o.reshape:
			in := findInput(spec.Config.GetInput(), p)
			if in == nil {
				return nil, status.New(status.InvalidArg, "RESHAPE_IO_LAYERS of model '%s' needs the dims of input '%s'", spec.Name, p.Name)
			}
			if s = s[:0]; batching {
				s = append(s, -1)
			}
			s = append(s, in.GetDims()...)
		case batching && !o.fixed && p.ranks && len(s) > 0 && s[0] != -1:
			s[0], changed = -1, true
		}
		shapes = append(shapes, s)
	}
	if !changed {
		return nil, nil
	}
	return shapes, nil
}

func findInput(inputs []*inferencepb.ModelInput, p port) *inferencepb.ModelInput {
	for _, in := range inputs {
		if slices.Contains(p.names, in.GetName()) {
			return in
		}
	}
	return nil
}

// matchPorts returns the port of each value of a signature.
func matchPorts(spec backend.Spec, what string, values []backend.Value, ports []port) ([]int, error) {
	places := make([]int, len(values))
	for k, v := range values {
		i := slices.IndexFunc(ports, func(p port) bool { return slices.Contains(p.names, v.Name) })
		if i < 0 {
			var names []string
			for _, p := range ports {
				names = append(names, p.Name)
			}
			return nil, status.New(status.InvalidArg, "unexpected inference %s '%s', allowed %ss are: %s", what, v.Name, what, strings.Join(names, ", "))
		}
		if ports[i].DataType != v.DataType {
			return nil, status.New(status.InvalidArg, "unable to load model '%s', configuration expects datatype %s for %s '%s', model provides %s",
				spec.Name, v.DataType.ConfigName(), what, v.Name, ports[i].DataType.ConfigName())
		}
		if err := checkDims(spec, what, v, ports[i]); err != nil {
			return nil, err
		}
		places[k] = i
	}
	return places, nil
}

// checkDims compares the configured dims with those of the model.
func checkDims(spec backend.Spec, what string, v backend.Value, p port) error {
	if !p.ranks {
		return nil
	}
	want := slices.Clone(v.BackendShape())
	if spec.Config.GetMaxBatchSize() > 0 {
		want = slices.Insert(want, 0, -1)
	}
	fits := len(want) == len(p.Dims)
	for d := range min(len(want), len(p.Dims)) {
		batch := d == 0 && spec.Config.GetMaxBatchSize() > 0
		fits = fits && (p.Dims[d] == -1 || want[d] == p.Dims[d] || want[d] == -1 && !batch)
	}
	if fits {
		return nil
	}
	hint := ""
	if spec.Config.GetMaxBatchSize() > 0 && len(p.Dims) > 0 && p.Dims[0] != -1 {
		hint = ": it cannot batch, so set max_batch_size: 0"
	}
	return status.New(status.InvalidArg, "model '%s', %s '%s': the model expects shape %v but the model configuration specifies shape %v%s",
		spec.Name, what, v.Name, p.Dims, want, hint)
}
