package linttest

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// numbers are small, so that no case makes many instances or large tensors, but for the last.
var numbers = []int64{-2, -1, 0, 1, 2, 3, 4, 5, 8, 16, 100}

// words are names of tensors, models and files of the repositories, and others.
var words = []string{
	"", "INPUT", "OUTPUT", "INPUT0", "OUTPUT0", "INPUT1", "OUTPUT1", "START", "READY", "first", "second", "pipe", "one", "two",
	"labels.txt", "data", "model.onnx", "model.py", "other.onnx", "missing", "../outside", "true", "false", "1", "-1", "3", "word", "0.5", "naïve",
	"python", "identity", "onnxruntime", "onnxruntime_onnx", "tensorrt", "tensorrt_plan", "ensemble", "pytorch", "cuda", "cpu",
}

// scalar returns a value of a field's type.
func (m *mutation) scalar(fd protoreflect.FieldDescriptor) protoreflect.Value {
	n := pick(m, numbers)
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(n%2 == 0)
	case protoreflect.EnumKind:
		values := fd.Enum().Values()
		return protoreflect.ValueOfEnum(values.Get(m.IntN(values.Len())).Number())
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(n))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(max(n, 0)))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(n)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(uint64(max(n, 0)))
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(n) / 2)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(float64(n) / 2)
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(pick(m, words)))
	default:
		return protoreflect.ValueOfString(pick(m, words))
	}
}

// sortedKeys returns the keys of a map in the order of their text.
func sortedKeys(mp protoreflect.Map) []protoreflect.MapKey {
	var keys []protoreflect.MapKey
	mp.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, k)
		return true
	})
	slices.SortFunc(keys, func(a, b protoreflect.MapKey) int { return cmp.Compare(a.String(), b.String()) })
	return keys
}

func sortedEntries(mp protoreflect.Map) []protoreflect.Value {
	var values []protoreflect.Value
	for _, k := range sortedKeys(mp) {
		values = append(values, mp.Get(k))
	}
	return values
}
