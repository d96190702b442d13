package modelconfig

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// written returns the value as error messages show it.
func (v *jsonValue) written() string {
	switch v.kind {
	case '"':
		return `"` + v.text + `"`
	case '{', '[':
		return string(v.kind)
	case 0:
		if f, err := strconv.ParseFloat(v.text, 64); err == nil && strings.ContainsAny(v.text, "eE") {
			return strconv.FormatFloat(f, 'g', -1, 64)
		}
	}
	return v.text
}

// jsonScalar reads a scalar of the field's type. The error names the path here, or outer if the
// value is a message.
func jsonScalar(fd protoreflect.FieldDescriptor, here, outer jsonPath, v *jsonValue) (protoreflect.Value, error) {
	switch v.kind {
	case '{':
		return protoreflect.Value{}, outer.invalid(v.pos, "Starting an object on a scalar field", string(fd.Name()))
	case '[':
		return protoreflect.Value{}, here.invalid(v.pos, "[", string(fd.Name()))
	}
	result, ok := v.scalar(fd)
	if ok {
		return result, nil
	}
	kind := "TYPE_" + strings.ToUpper(fd.Kind().String())
	if fd.Kind() == protoreflect.EnumKind {
		kind = "type.googleapis.com/" + string(fd.Enum().FullName())
	}
	return result, here.invalid(v.pos, v.written(), kind)
}

func (v *jsonValue) scalar(fd protoreflect.FieldDescriptor) (protoreflect.Value, bool) {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		t, ok := v.bool()
		return protoreflect.ValueOfBool(t), ok
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(v.text), v.kind == '"'
	case protoreflect.EnumKind:
		n, ok := v.enum(fd.Enum())
		return protoreflect.ValueOfEnum(n), ok
	case protoreflect.Int32Kind:
		n, ok := v.int(32)
		return protoreflect.ValueOfInt32(int32(n)), ok
	case protoreflect.Int64Kind:
		n, ok := v.int(64)
		return protoreflect.ValueOfInt64(n), ok
	case protoreflect.Uint32Kind:
		n, ok := v.uint(32)
		return protoreflect.ValueOfUint32(uint32(n)), ok
	case protoreflect.Uint64Kind:
		n, ok := v.uint(64)
		return protoreflect.ValueOfUint64(n), ok
	case protoreflect.FloatKind:
		f, ok := v.float(32)
		return protoreflect.ValueOfFloat32(float32(f)), ok
	case protoreflect.DoubleKind:
		f, ok := v.float(64)
		return protoreflect.ValueOfFloat64(f), ok
	}
	return protoreflect.Value{}, false
}

func (v *jsonValue) bool() (value, ok bool) {
	switch strings.ToLower(v.text) {
	case "true":
		return true, v.kind == 't' || v.kind == '"'
	case "t", "yes", "y", "1":
		return true, v.kind == '"'
	case "false":
		return false, v.kind == 'f' || v.kind == '"'
	case "f", "no", "n", "0":
		return false, v.kind == '"'
	}
	return false, false
}

func (v *jsonValue) enum(ed protoreflect.EnumDescriptor) (protoreflect.EnumNumber, bool) {
	if v.kind == '"' {
		name := strings.ReplaceAll(strings.ToUpper(v.text), "-", "_")
		if e := ed.Values().ByName(protoreflect.Name(name)); e != nil {
			return e.Number(), true
		}
	}
	n, ok := v.int(32)
	return protoreflect.EnumNumber(n), ok
}

// whole returns the text of a number; one without a fraction, such as 1e3, as an integer.
func (v *jsonValue) whole() string {
	if v.kind != 0 || !strings.ContainsAny(v.text, ".eE") {
		return v.text
	}
	f, err := strconv.ParseFloat(v.text, 64)
	if err != nil || f != math.Trunc(f) {
		return v.text
	}
	return strconv.FormatFloat(f, 'f', 0, 64)
}

func (v *jsonValue) int(bits int) (int64, bool) {
	if v.kind != 0 && v.kind != '"' || strings.HasPrefix(v.text, "+") {
		return 0, false
	}
	n, err := strconv.ParseInt(v.whole(), 10, bits)
	return n, err == nil
}

func (v *jsonValue) uint(bits int) (uint64, bool) {
	if v.kind != 0 && v.kind != '"' || strings.HasPrefix(v.text, "+") {
		return 0, false
	}
	n, err := strconv.ParseUint(v.whole(), 10, bits)
	return n, err == nil
}

func (v *jsonValue) float(bits int) (float64, bool) {
	if v.kind == '"' {
		switch v.text {
		case "NaN":
			return math.NaN(), true
		case "Infinity":
			return math.Inf(1), true
		case "-Infinity":
			return math.Inf(-1), true
		}
		if !isNumber(strings.TrimPrefix(v.text, "-")) {
			return 0, false
		}
	} else if v.kind != 0 {
		return 0, false
	}
	f, err := strconv.ParseFloat(v.text, bits)
	return f, err == nil
}

// isNumber reports whether the text is a decimal number without sign.
func isNumber(text string) bool {
	if text == "" || !isDigit(text[0]) {
		return false
	}
	_, err := strconv.ParseFloat(text, 64)
	return !strings.ContainsAny(text, "xX_pP") && (err == nil || errors.Is(err, strconv.ErrRange))
}
