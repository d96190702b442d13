package fleetstate

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// unknown returns a warning for each field of a document that is not known: it may be misspelled,
// or belong to a newer program.
func unknown(text []byte) (warnings []string) {
	var top map[string]json.RawMessage
	if json.Unmarshal(text, &top) != nil {
		return nil
	}
	warnings = unknownIn("", top, reflect.TypeFor[Document]())
	var models map[string]map[string]json.RawMessage
	if json.Unmarshal(top["models"], &models) == nil {
		for name, fields := range models {
			warnings = append(warnings, unknownIn("model '"+name+"': ", fields, reflect.TypeFor[Model]())...)
		}
	}
	slices.Sort(warnings)
	return warnings
}

func unknownIn(where string, fields map[string]json.RawMessage, of reflect.Type) (warnings []string) {
	known := map[string]bool{}
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		known[name] = true
	}
	for name := range fields {
		if !known[strings.ToLower(name)] {
			warnings = append(warnings, fmt.Sprintf("%sthe field %q of the state is not known and has no effect", where, name))
		}
	}
	return warnings
}
