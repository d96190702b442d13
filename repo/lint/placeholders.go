package lint

import (
	"fmt"
	"strconv"

	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"

	"triton/pkg/modelconfig"
)

// placeholders reports texts with a placeholder of a template. They load: a backend may fail with the
// text, or use it as it is.
func (r *run) placeholders() {
	check := func(at protopath.Path, text string) {
		if placeholder := modelconfig.Placeholder(text); placeholder != "" {
			r.add(ruleUnfilled, fieldPath(at), fmt.Sprintf("the text %q has the placeholder %s of a template, which was not filled in", text, placeholder), "write its value")
		}
	}
	_ = protorange.Range(r.written.ProtoReflect(), func(p protopath.Values) error { // it returns no error
		last := p.Index(-1)
		if text, ok := last.Value.Interface().(string); ok {
			check(p.Path, text)
		}
		if last.Step.Kind() == protopath.MapIndexStep {
			check(p.Path, last.Step.MapIndex().String())
		}
		return nil
	})
}

// fieldPath returns a path in the form of modelconfig's positions.
func fieldPath(steps protopath.Path) (path string) {
	for _, s := range steps {
		switch s.Kind() {
		case protopath.FieldAccessStep:
			if path != "" {
				path += "."
			}
			path += string(s.FieldDescriptor().Name())
		case protopath.ListIndexStep:
			path += "[" + strconv.Itoa(s.ListIndex()) + "]"
		case protopath.MapIndexStep:
			path += "[" + strconv.Quote(s.MapIndex().String()) + "]"
		}
	}
	return path
}
