package modelconfig

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"triton/pkg/inferencepb"
	"triton/pkg/spelling"
)

// suggestField returns a hint for a field name that the message does not have.
func suggestField(md protoreflect.MessageDescriptor, name string) string {
	fields := md.Fields()
	names := make([]string, fields.Len())
	for i := range names {
		fd := fields.Get(i)
		names[i] = string(fd.Name())
		if fd.JSONName() == name {
			return didYouMean(names[i])
		}
	}
	if best, ok := spelling.Nearest(name, names); ok {
		return didYouMean(best)
	}
	if (&inferencepb.ModelConfig{}).ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(name)) != nil {
		return "write it at the top level, outside of all blocks"
	}
	if block := blockWith(protoreflect.Name(name)); block != "" {
		return fmt.Sprintf("write it in %s { }", block)
	}
	if len(names) <= 6 {
		return "it has " + strings.Join(names, ", ")
	}
	return "remove it or correct its name"
}

func didYouMean(name string) string { return fmt.Sprintf("did you mean %q?", name) }

// blockWith returns the path of the first block of a configuration, by depth, that has a field
// of this name; empty: there is none.
func blockWith(name protoreflect.Name) string {
	root := (&inferencepb.ModelConfig{}).ProtoReflect().Descriptor()
	type block struct {
		md   protoreflect.MessageDescriptor
		path string
	}
	seen := map[protoreflect.FullName]bool{root.FullName(): true}
	for queue := []block{{root, ""}}; len(queue) > 0; queue = queue[1:] {
		fields := queue[0].md.Fields()
		for i := range fields.Len() {
			fd := fields.Get(i)
			md := fd.Message()
			if md == nil || fd.IsMap() || seen[md.FullName()] {
				continue
			}
			seen[md.FullName()] = true
			path := join(queue[0].path, string(fd.Name()))
			if md.Fields().ByName(name) != nil {
				return path
			}
			queue = append(queue, block{md, path})
		}
	}
	return ""
}

// typeNames maps the names that other systems give to element types to those of config.pbtxt.
var typeNames = map[string]string{
	"FLOAT": "TYPE_FP32", "FLOAT32": "TYPE_FP32", "FLOAT16": "TYPE_FP16", "HALF": "TYPE_FP16", "FLOAT64": "TYPE_FP64",
	"DOUBLE": "TYPE_FP64", "BFLOAT16": "TYPE_BF16", "BYTES": "TYPE_STRING", "STR": "TYPE_STRING", "STRING": "TYPE_STRING",
	"INT": "TYPE_INT32", "LONG": "TYPE_INT64", "BOOLEAN": "TYPE_BOOL",
}

func suggestEnum(ed protoreflect.EnumDescriptor, name string) string {
	values := ed.Values()
	names := make([]string, values.Len())
	for i := range names {
		names[i] = string(values.Get(i).Name())
	}
	upper := strings.ToUpper(name)
	if ed.Name() == "DataType" {
		if known, ok := typeNames[strings.TrimPrefix(upper, "TYPE_")]; ok {
			return didYouMean(known)
		}
	}
	for _, n := range names {
		if upper == n || upper != "" && strings.HasSuffix(n, "_"+upper) {
			return didYouMean(n)
		}
	}
	if best, ok := spelling.Nearest(upper, names); ok {
		return didYouMean(best)
	}
	return "use one of " + strings.Join(names, ", ")
}

func suggestQuotedEnum(fd protoreflect.FieldDescriptor, name string) string {
	if fd.Enum().Values().ByName(protoreflect.Name(name)) != nil {
		return "write " + name + " without quotes"
	}
	return suggestEnum(fd.Enum(), name)
}
