package modelconfig

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// written returns the value as error messages show it.
func (v *value) written() string {
	switch {
	case v.message:
		return "{"
	case v.minus:
		return "-"
	}
	return v.tok.text
}

// scalar reads one scalar of the field's type. It returns false if it has reported a
// mistake.
func (b *binder) scalar(fd protoreflect.FieldDescriptor, v *value) (protoreflect.Value, bool) {
	none := protoreflect.Value{}
	if v.reported {
		return none, false
	}
	switch fd.Kind() {
	case protoreflect.BoolKind:
		t, ok := b.boolean(fd, v)
		return protoreflect.ValueOfBool(t), ok
	case protoreflect.EnumKind:
		n, ok := b.enum(fd, v)
		return protoreflect.ValueOfEnum(n), ok
	case protoreflect.StringKind:
		return b.text(fd, v)
	case protoreflect.Int32Kind:
		n, ok := b.integer(fd, v, 1<<31, math.MaxInt32)
		return protoreflect.ValueOfInt32(int32(n)), ok
	case protoreflect.Int64Kind:
		n, ok := b.integer(fd, v, 1<<63, math.MaxInt64)
		return protoreflect.ValueOfInt64(int64(n)), ok
	case protoreflect.Uint32Kind:
		n, ok := b.integer(fd, v, 0, math.MaxUint32)
		return protoreflect.ValueOfUint32(uint32(n)), ok
	case protoreflect.Uint64Kind:
		n, ok := b.integer(fd, v, 0, math.MaxUint64)
		return protoreflect.ValueOfUint64(n), ok
	case protoreflect.FloatKind:
		f, ok := b.float(fd, v, 32)
		return protoreflect.ValueOfFloat32(float32(f)), ok
	case protoreflect.DoubleKind:
		f, ok := b.float(fd, v, 64)
		return protoreflect.ValueOfFloat64(f), ok
	}
	b.failValue(fd, v, fmt.Sprintf("Field %q has a type that configurations do not use.", fd.Name()), "remove it")
	return none, false
}

// integer reads an integer of at most low below zero or high above it. The
// result is the two's complement of negative numbers.
func (b *binder) integer(fd protoreflect.FieldDescriptor, v *value, low, high uint64) (uint64, bool) {
	if v.message || v.tok.kind != tokInt || (v.minus && low == 0) {
		hint := fmt.Sprintf("%q takes a whole number without quotes", fd.Name())
		if low == 0 {
			hint = fmt.Sprintf("%q takes a whole number of at least 0, without quotes", fd.Name())
		}
		got := v.written()
		if v.minus && low != 0 {
			got = v.tok.text
		}
		b.failValue(fd, v, "Expected integer, got: "+got, hint)
		return 0, false
	}
	n, err := parseUint(v.tok.text)
	limit := high
	if v.minus {
		limit = low
	}
	if err != nil || n > limit {
		b.failValue(fd, v, fmt.Sprintf("Integer out of range (%s)", v.tok.text),
			fmt.Sprintf("%q takes at most %d", fd.Name(), high))
		return 0, false
	}
	if v.minus {
		n = -n
	}
	return n, true
}

func parseUint(text string) (uint64, error) {
	switch {
	case len(text) > 2 && (text[1] == 'x' || text[1] == 'X'):
		return strconv.ParseUint(text[2:], 16, 64)
	case len(text) > 1 && text[0] == '0':
		return strconv.ParseUint(text, 8, 64)
	}
	return strconv.ParseUint(text, 10, 64)
}

func (b *binder) boolean(fd protoreflect.FieldDescriptor, v *value) (result, ok bool) {
	const hint = "write true or false"
	switch {
	case v.message || v.minus:
	case v.tok.kind == tokInt:
		n, err := parseUint(v.tok.text)
		if err == nil && n <= 1 {
			return n == 1, true
		}
		b.failValue(fd, v, fmt.Sprintf("Integer out of range (%s)", v.tok.text), hint)
		return false, false
	case v.tok.kind == tokIdent:
		switch v.tok.text {
		case "true", "True", "t":
			return true, true
		case "false", "False", "f":
			return false, true
		}
		b.failValue(fd, v, fmt.Sprintf("Invalid value for boolean field %q. Value: %q.", fd.Name(), v.tok.text), hint)
		return false, false
	}
	b.failValue(fd, v, "Expected identifier, got: "+v.written(), hint)
	return false, false
}

func (b *binder) enum(fd protoreflect.FieldDescriptor, v *value) (protoreflect.EnumNumber, bool) {
	values := fd.Enum().Values()
	switch {
	case !v.message && v.tok.kind == tokIdent && !v.minus:
		if e := values.ByName(protoreflect.Name(v.tok.text)); e != nil {
			return e.Number(), true
		}
	case !v.message && v.tok.kind == tokInt:
		n, ok := b.integer(fd, v, 1<<31, math.MaxInt32)
		return protoreflect.EnumNumber(int32(n)), ok
	case !v.message && v.tok.kind == tokString:
		b.failValue(fd, v, "Expected integer or identifier, got: "+v.tok.text, suggestQuotedEnum(fd, v.tok.value))
		return 0, false
	default:
		b.failValue(fd, v, "Expected integer or identifier, got: "+v.written(), suggestEnum(fd.Enum(), ""))
		return 0, false
	}
	b.failValue(fd, v, fmt.Sprintf("Unknown enumeration value of %q for field %q.", v.tok.text, fd.Name()),
		suggestEnum(fd.Enum(), v.tok.text))
	return 0, false
}

func (b *binder) text(fd protoreflect.FieldDescriptor, v *value) (protoreflect.Value, bool) {
	if v.message || v.minus || v.tok.kind != tokString {
		hint := fmt.Sprintf("%q takes text in quotes", fd.Name())
		if !v.message && !v.minus && v.tok.text != "" { // the end of the file cannot be quoted
			hint = fmt.Sprintf("put it in quotes: %q", v.tok.text)
		}
		b.failValue(fd, v, "Expected string, got: "+v.written(), hint)
		return protoreflect.Value{}, false
	}
	// Triton's parser takes bytes that are not UTF-8. They cannot be sent in messages, so each run
	// of them becomes the replacement character.
	return protoreflect.ValueOfString(strings.ToValidUTF8(v.tok.value, string(utf8.RuneError))), true
}

func (b *binder) float(fd protoreflect.FieldDescriptor, v *value, bits int) (float64, bool) {
	f, ok := 0.0, false
	if !v.message {
		switch v.tok.kind {
		case tokInt:
			ok = len(v.tok.text) == 1 || v.tok.text[0] != '0'
			fallthrough
		case tokFloat:
			ok = ok || v.tok.kind == tokFloat
			var err error
			f, err = strconv.ParseFloat(strings.TrimRight(v.tok.text, "fF"), bits)
			ok = ok && (err == nil || errors.Is(err, strconv.ErrRange)) // too large a number is infinite
		case tokIdent:
			switch strings.ToLower(v.tok.text) {
			case "inf", "infinity":
				f, ok = math.Inf(1), true
			case "nan":
				f, ok = math.NaN(), true
			}
		}
	}
	if !ok && !v.message && v.tok.kind == tokInt {
		b.failValue(fd, v, "Expect a decimal number, got: "+v.tok.text, "write it in decimal")
		return 0, false
	}
	if !ok {
		b.failValue(fd, v, "Expected double, got: "+v.written(), "write a decimal number without quotes")
		return 0, false
	}
	if v.minus {
		f = -f
	}
	return f, true
}
