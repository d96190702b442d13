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
	if known, ok := fieldNames[md.Name()][strings.ToLower(name)]; ok {
		return didYouMean(known)
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

// tensorNames and the tables of fieldNames map the names that other systems give to fields, and frequent
// guesses, to those of config.pbtxt.
var tensorNames = map[string]string{
	"shape": "dims", "size": "dims", "dimensions": "dims", "type": "data_type", "dtype": "data_type", "datatype": "data_type",
}

var fieldNames = map[protoreflect.Name]map[string]string{
	"ModelConfig": {
		"batch_size": "max_batch_size", "instances": "instance_group", "instance_count": "instance_group", "framework": "backend",
		"engine": "backend", "model_name": "name", "filename": "default_model_filename", "model_filename": "default_model_filename",
		"batching": "dynamic_batching", "versions": "version_policy", "warmup": "model_warmup", "ensemble": "ensemble_scheduling",
	},
	"ModelInput": tensorNames, "ModelOutput": tensorNames, "BatchInput": {"name": "target_name", "type": "kind"},
	"ModelInstanceGroup": {
		"instances": "count", "instance_count": "count", "num_instances": "count", "type": "kind", "device": "gpus", "devices": "gpus",
		"gpu": "gpus", "gpu_ids": "gpus", "device_ids": "gpus",
	},
	"ModelDynamicBatching": {
		"max_queue_delay": "max_queue_delay_microseconds", "max_queue_delay_ms": "max_queue_delay_microseconds",
		"max_delay": "max_queue_delay_microseconds", "delay": "max_queue_delay_microseconds", "batch_size": "preferred_batch_size",
	},
	"ModelParameter": {"value": "string_value", "string": "string_value", "text": "string_value"},
	"ModelWarmup":    {"input": "inputs", "max_batch_size": "batch_size", "batch": "batch_size"},
	"Input": { // of a warm-up
		"shape": "dims", "dimensions": "dims", "type": "data_type", "dtype": "data_type", "datatype": "data_type", "zero": "zero_data",
		"zeros": "zero_data", "random": "random_data", "file": "input_data_file", "filename": "input_data_file", "data_file": "input_data_file",
	},
	"Step": {"model": "model_name", "name": "model_name", "version": "model_version", "inputs": "input_map", "outputs": "output_map"},
}

// messageHint returns what to write instead of a value that is no message.
func messageHint(fd protoreflect.FieldDescriptor, v *value) string {
	name := string(fd.Name())
	switch {
	case v.minus && fd.IsList() && v.tok.kind == tokIdent:
		return fmt.Sprintf("a list is not written as in YAML: write %s [ { ... }, { ... } ]", name)
	case fd.Message().Name() == "ModelParameter" && v.tok.kind == tokString:
		return fmt.Sprintf("write %s { string_value: %s }", name, v.tok.text)
	case fd.Message().Name() == "ModelParameter" && v.tok.text != "" && v.tok.kind != tokSymbol:
		return fmt.Sprintf("write %s { string_value: %q }", name, v.signed())
	}
	return "write " + name + " { ... }"
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
