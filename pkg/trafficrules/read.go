package trafficrules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"triton/pkg/status"
)

// MaxDocument is the maximum size of a document in bytes.
const MaxDocument = 256 << 10

// FieldError is a mistake in a document.
type FieldError struct {
	Field string // such as weights[1].weight; empty: the document
	Msg   string
}

// Error returns the field and the message.
func (e *FieldError) Error() string {
	if e.Field == "" {
		return e.Msg
	}
	return e.Field + ": " + e.Msg
}

func fieldError(field, format string, args ...any) error {
	return &FieldError{field, fmt.Sprintf(format, args...)}
}

// ErrGeneration reports that the rules have changed since the caller read them.
var ErrGeneration error = status.New(status.InvalidArg, "the traffic rules have changed since they were read: read them again")

// Read reads the rules of a name and checks them. Unknown fields are mistakes.
func Read(name string, document []byte) (*Rules, error) {
	if len(document) > MaxDocument {
		return nil, fieldError("", "the document has %d bytes, more than %d", len(document), MaxDocument)
	}
	d := json.NewDecoder(bytes.NewReader(document))
	d.DisallowUnknownFields()
	var r *Rules
	if err := d.Decode(&r); err != nil {
		return nil, readError(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fieldError("", "there is text after the end of the object")
	}
	if r == nil {
		return nil, fieldError("", "expected an object, got null")
	}
	if err := r.check(name); err != nil {
		return nil, err
	}
	return r, nil
}

// readError converts an error of encoding/json, so that it names the field.
func readError(err error) error {
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrong):
		return fieldError(wrong.Field, "expected %s, got a JSON %s", kindName(wrong.Type.Kind().String()), wrong.Value)
	case errors.As(err, &syntax):
		return fieldError("", "not JSON at byte %d: %v", syntax.Offset, err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fieldError("", "not JSON: the text ends too early")
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fieldError(strings.Trim(name, `"`), "there is no such field")
	}
	return fieldError("", "%v", err)
}

// kindName returns the JSON type of a kind of Go.
func kindName(kind string) string {
	switch kind {
	case "struct", "map", "ptr":
		return "an object"
	case "slice":
		return "an array"
	case "bool":
		return "true or false"
	case "string":
		return "a string"
	}
	return "a number"
}

// Parameter is the parameter of a configuration that holds rules.
const Parameter = "traffic_rules"
