package render

import (
	"strconv"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// differences returns the paths of the fields that after has and before has not, or has with
// another value. An added message is one path.
func differences(before, after proto.Message) []string {
	return appendDifferences(nil, "", before.ProtoReflect(), after.ProtoReflect())
}

func appendDifferences(paths []string, prefix string, before, after protoreflect.Message) []string {
	fields := after.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if !after.Has(fd) {
			continue
		}
		path := string(fd.Name())
		if prefix != "" {
			path = prefix + "." + path
		}
		switch {
		case fd.IsMap():
			paths = appendEntries(paths, path, fd, before.Get(fd).Map(), after.Get(fd).Map())
		case fd.IsList() && fd.Message() != nil:
			paths = appendElements(paths, path, before.Get(fd).List(), after.Get(fd).List())
		case !before.Has(fd):
			paths = append(paths, path)
		case fd.Message() != nil && !fd.IsList():
			paths = appendDifferences(paths, path, before.Get(fd).Message(), after.Get(fd).Message())
		case !before.Get(fd).Equal(after.Get(fd)):
			paths = append(paths, path)
		}
	}
	return paths
}

func appendElements(paths []string, path string, before, after protoreflect.List) []string {
	for i := range after.Len() {
		at := path + "[" + strconv.Itoa(i) + "]"
		if i < before.Len() {
			paths = appendDifferences(paths, at, before.Get(i).Message(), after.Get(i).Message())
		} else {
			paths = append(paths, at)
		}
	}
	return paths
}

func appendEntries(paths []string, path string, fd protoreflect.FieldDescriptor, before, after protoreflect.Map) []string {
	after.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		if !before.Has(k) || fd.MapValue().Message() == nil && !before.Get(k).Equal(v) {
			paths = append(paths, path+"["+strconv.Quote(k.String())+"]")
		}
		return true
	})
	return paths
}
