package settings

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"triton/analyzer/trial"
	"triton/pkg/inferencepb"
)

// ofModel begins the names of the mappings of one model.
const ofModel = "profile_models.MODEL"

// belongs returns a sentence about where a key belongs that a mapping does not take; empty: it belongs
// nowhere.
func belongs(key, mapping string) string {
	var places []string
	add := func(place string, takes bool) {
		if takes && !sameMapping(place, mapping) {
			places = append(places, place)
		}
	}
	name := strings.ReplaceAll(key, "_", "-")
	add("", mapping != "" && knownKeys()[key])
	add(ofModel, (&Model{}).decoders()[key] != nil)
	add(ofModel+".parameters", loadDecoders(&Model{})[key] != nil)
	add(ofModel+".model_config_parameters", (&inferencepb.ModelConfig{}).ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(key)) != nil)
	add("perf_analyzer_flags", perfFlags.has(name))
	add("triton_server_flags", serverFlags.has(key) || serverFlags.has(name))
	add("triton_docker_args", dockerArguments[key] != 0)
	_, err := trial.FindMetric(trial.Metric(key))
	add("constraints", err == nil && bounds(key) != nil)
	add("objectives", err == nil)
	if len(places) == 0 {
		return ""
	}
	for i, place := range places {
		if places[i] = "in " + place; place == "" {
			places[i] = "at the top of the file"
		}
	}
	return " It belongs " + strings.Join(places, ", or ") + "."
}

// sameMapping reports whether a place of belongs is the mapping of this full name, such as
// profile_models.resnet.parameters. A model has most of the mappings of the file, too.
func sameMapping(place, mapping string) bool {
	last := func(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }
	if model, ok := strings.CutPrefix(mapping, "profile_models."); ok && place == ofModel {
		return (&Model{}).decoders()[last(model)] == nil
	}
	return last(place) == last(mapping)
}
