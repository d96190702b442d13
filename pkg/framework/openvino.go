package framework

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"triton/pkg/inferencepb"
)

// describeOpenVINO reads OpenVINO's IR: model.xml, with the weights in a .bin file beside it.
func describeOpenVINO(file string) (*described, error) {
	f, err := openFile(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	net, err := readIR(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	d := &described{backend: "openvino", inputs: net.inputs, outputs: net.outputs}
	weights := strings.TrimSuffix(file, filepath.Ext(file)) + ".bin"
	if _, err := os.Stat(weights); err == nil {
		d.weights = weights
	} else if net.constants {
		return nil, fmt.Errorf("the weights of the model: %w", err)
	}
	return d, nil
}

// irTypes are the types of OpenVINO, in lower case as element_type and as precision have them.
var irTypes = map[string]inferencepb.DataType{
	"boolean": inferencepb.DataType_TYPE_BOOL, "bool": inferencepb.DataType_TYPE_BOOL,
	"u8": inferencepb.DataType_TYPE_UINT8, "u16": inferencepb.DataType_TYPE_UINT16,
	"u32": inferencepb.DataType_TYPE_UINT32, "u64": inferencepb.DataType_TYPE_UINT64,
	"i8": inferencepb.DataType_TYPE_INT8, "i16": inferencepb.DataType_TYPE_INT16,
	"i32": inferencepb.DataType_TYPE_INT32, "i64": inferencepb.DataType_TYPE_INT64,
	"f16": inferencepb.DataType_TYPE_FP16, "fp16": inferencepb.DataType_TYPE_FP16,
	"f32": inferencepb.DataType_TYPE_FP32, "fp32": inferencepb.DataType_TYPE_FP32,
	"f64": inferencepb.DataType_TYPE_FP64, "fp64": inferencepb.DataType_TYPE_FP64,
	"string": inferencepb.DataType_TYPE_STRING,
}

// irNet is what an IR says of its inputs and outputs.
type irNet struct {
	inputs, outputs []namedTensor
	constants       bool // it needs weights
	dynamic         bool // an input has any number of dimensions
}

type irLayer struct {
	ID          string `xml:"id,attr"`
	Type        string `xml:"type,attr"`
	OutputNames string `xml:"output_names,attr"`
	Data        struct {
		Shape       *string `xml:"shape,attr"`
		ElementType string  `xml:"element_type,attr"`
	} `xml:"data"`
	Input  []irPort `xml:"input>port"`
	Output []irPort `xml:"output>port"`
}

type irPort struct {
	ID        string  `xml:"id,attr"`
	Precision string  `xml:"precision,attr"`
	Names     string  `xml:"names,attr"`
	Dims      []int64 `xml:"dim"`
}

// readIR reads an IR. Layers inside of other layers, such as those of a loop, are not the
// model's own.
func readIR(r io.Reader) (*irNet, error) {
	d := xml.NewDecoder(r)
	d.CharsetReader = func(charset string, _ io.Reader) (io.Reader, error) {
		return nil, fmt.Errorf("the encoding %q is not supported", charset)
	}
	var net irNet
	var results []irLayer
	names := map[[2]string]string{} // of the tensor of a port, by layer and port
	from := map[string][2]string{}  // the source of a layer's input
	isNet, path := false, []string{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && isNet {
			break
		}
		if err != nil {
			return nil, err
		}
		switch t := token.(type) {
		case xml.EndElement:
			path = path[:len(path)-1]
			continue
		case xml.StartElement:
			path = append(path, t.Name.Local)
			switch strings.Join(path[:min(len(path), 4)], "/") {
			case "net":
				isNet = true
			case "net/layers/layer":
				var l irLayer
				if err := d.DecodeElement(&l, &t); err != nil {
					return nil, err
				}
				path = path[:len(path)-1]
				net.constants = net.constants || l.Type == "Const"
				for _, p := range l.Output {
					if p.Names != "" {
						names[[2]string{l.ID, p.ID}] = p.Names
					}
				}
				switch l.Type {
				case "Parameter":
					in, err := l.parameter(len(net.inputs))
					if err != nil {
						return nil, err
					}
					net.inputs = append(net.inputs, in)
					net.dynamic = net.dynamic || in.unknown
				case "Result":
					results = append(results, l)
				}
			case "net/edges/edge":
				from[attr(t, "to-layer")] = [2]string{attr(t, "from-layer"), attr(t, "from-port")}
			}
		}
	}
	for i, l := range results {
		tensors := l.OutputNames
		if tensors == "" {
			tensors = names[from[l.ID]]
		}
		if len(l.Input) != 1 {
			return nil, fmt.Errorf("output %d: a layer Result with %d inputs", i, len(l.Input))
		}
		out, err := irTensor(irName(tensors, "output", i), l.Input[0].Precision, l.Input[0].Dims)
		if err != nil {
			return nil, err
		}
		if net.dynamic && len(out.dims) == 0 { // otherwise it is a scalar, which the file writes in the same way
			out = unknownRank(out.name, out.kind)
		}
		net.outputs = append(net.outputs, out)
	}
	if len(net.inputs) == 0 || len(net.outputs) == 0 {
		return nil, errors.New("it is not a model in OpenVINO's IR: it has no layers of the types Parameter and Result")
	}
	return &net, nil
}

func attr(t xml.StartElement, name string) string {
	i := slices.IndexFunc(t.Attr, func(a xml.Attr) bool { return a.Name.Local == name })
	if i < 0 {
		return ""
	}
	return t.Attr[i].Value
}

// parameter returns the input that a layer Parameter is.
func (l *irLayer) parameter(index int) (namedTensor, error) {
	names := ""
	var dims []int64
	if len(l.Output) > 0 {
		names, dims = l.Output[0].Names, l.Output[0].Dims
	}
	if l.Data.Shape != nil {
		dims = nil
		if strings.TrimSpace(*l.Data.Shape) == "..." {
			t, err := irTensor(irName(names, "input", index), l.Data.ElementType, nil)
			return unknownRank(t.name, t.kind), err
		}
		for text := range strings.SplitSeq(*l.Data.Shape, ",") {
			if text = strings.TrimSpace(text); text == "" {
				continue
			}
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || n < 0 { // "?" or a range
				n = -1
			}
			dims = append(dims, n)
		}
	}
	return irTensor(irName(names, "input", index), l.Data.ElementType, dims)
}

// irName returns the name that the backend gives a tensor: the first of its names.
func irName(names, kind string, index int) string {
	all := strings.Split(names, ",")
	slices.Sort(all)
	if all[0] == "" {
		return fmt.Sprintf("%s_%d", kind, index)
	}
	return all[0]
}

func irTensor(name, kind string, dims []int64) (namedTensor, error) {
	t, ok := irTypes[strings.ToLower(kind)]
	if !ok {
		return namedTensor{}, fmt.Errorf("tensor '%s' has the type %q, which the protocol does not have", name, kind)
	}
	return namedTensor{name: name, kind: t, dims: dims}, nil
}
