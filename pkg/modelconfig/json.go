package modelconfig

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"triton/pkg/inferencepb"
	"triton/pkg/tritonjson"
)

// MarshalJSON returns the JSON form of Triton's model configuration API: proto field
// names in Triton's order, every primitive field and list present, most 64-bit
// integers as numbers. Map keys are sorted.
func MarshalJSON(cfg *inferencepb.ModelConfig) ([]byte, error) {
	return appendJSON(nil, cfg.ProtoReflect()), nil
}

// jsonOrder is the order of the fields where Triton's differs from the numbers'.
// Fields that are not listed follow in the order of their numbers.
var jsonOrder = map[protoreflect.FullName]string{
	"inference.ModelConfig": "name platform backend runtime version_policy max_batch_size input output batch_input batch_output " +
		"optimization dynamic_batching sequence_batching ensemble_scheduling instance_group default_model_filename " +
		"cc_model_filenames metric_tags parameters model_warmup model_operations model_transaction_policy",
	"inference.ModelInstanceGroup":                 "name kind count rate_limiter gpus secondary_devices profile passive host_policy",
	"inference.ModelOutput":                        "name data_type dims reshape label_filename",
	"inference.ModelSequenceBatching":              "direct oldest",
	"inference.ModelSequenceBatching.Control":      "kind int32_false_true fp32_false_true bool_false_true data_type",
	"inference.ModelSequenceBatching.InitialState": "data_type dims name",
}

// jsonStrings are the 64-bit integers that Triton writes as strings, as protobuf does.
var jsonStrings = map[protoreflect.FullName]bool{
	"inference.ModelSequenceBatching.InitialState.dims":          true,
	"inference.ModelOptimizationPolicy.Cuda.GraphSpec.Shape.dim": true,
	"inference.ModelInstanceGroup.SecondaryDevice.device_id":     true,
}

func jsonFields(md protoreflect.MessageDescriptor) []protoreflect.FieldDescriptor {
	fields := md.Fields()
	list := make([]protoreflect.FieldDescriptor, fields.Len())
	for i := range list {
		list[i] = fields.Get(i)
	}
	order, ok := jsonOrder[md.FullName()]
	if !ok {
		return list
	}
	names := strings.Fields(order)
	rank := func(fd protoreflect.FieldDescriptor) int {
		if i := slices.Index(names, string(fd.Name())); i >= 0 {
			return i
		}
		return len(names)
	}
	slices.SortStableFunc(list, func(a, b protoreflect.FieldDescriptor) int { return cmp.Compare(rank(a), rank(b)) })
	return list
}

func appendJSON(out []byte, m protoreflect.Message) []byte {
	out = append(out, '{')
	first := true
	for _, fd := range jsonFields(m.Descriptor()) {
		single := !fd.IsList() && !fd.IsMap()
		if single && (fd.Message() != nil || fd.ContainingOneof() != nil) && !m.Has(fd) {
			continue
		}
		if !first {
			out = append(out, ',')
		}
		first = false
		out = tritonjson.AppendString(out, string(fd.Name()))
		out = append(out, ':')
		v := m.Get(fd)
		switch {
		case fd.IsMap():
			out = appendJSONMap(out, fd, v.Map())
		case fd.IsList():
			out = append(out, '[')
			for i := range v.List().Len() {
				if i > 0 {
					out = append(out, ',')
				}
				out = appendJSONValue(out, fd, v.List().Get(i))
			}
			out = append(out, ']')
		default:
			out = appendJSONValue(out, fd, v)
		}
	}
	return append(out, '}')
}

func appendJSONMap(out []byte, fd protoreflect.FieldDescriptor, m protoreflect.Map) []byte {
	out = append(out, '{')
	for i, k := range sortedKeys(fd, m) {
		if i > 0 {
			out = append(out, ',')
		}
		out = tritonjson.AppendString(out, k.String())
		out = append(out, ':')
		out = appendJSONValue(out, fd.MapValue(), m.Get(k))
	}
	return append(out, '}')
}

func appendJSONValue(out []byte, fd protoreflect.FieldDescriptor, v protoreflect.Value) []byte {
	switch fd.Kind() {
	case protoreflect.MessageKind:
		return appendJSON(out, v.Message())
	case protoreflect.StringKind:
		return tritonjson.AppendString(out, v.String())
	case protoreflect.EnumKind:
		if e := fd.Enum().Values().ByNumber(v.Enum()); e != nil {
			return tritonjson.AppendString(out, string(e.Name()))
		}
		return strconv.AppendInt(out, int64(v.Enum()), 10)
	case protoreflect.FloatKind:
		return appendJSONFloat(out, v.Float(), 32)
	case protoreflect.DoubleKind:
		return appendJSONFloat(out, v.Float(), 64)
	case protoreflect.Int64Kind, protoreflect.Uint64Kind:
		if jsonStrings[fd.FullName()] {
			return tritonjson.AppendString(out, v.String())
		}
	}
	return append(out, v.String()...) // integers and booleans
}

func appendJSONFloat(out []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(out, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(out, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(out, `"-Infinity"`...)
	}
	return strconv.AppendFloat(out, f, 'g', -1, bits)
}
