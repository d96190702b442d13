package rest

import "triton/pkg/status"

// Object is a JSON object of an administrative request, with the accessors and
// error texts of Triton's JSON layer: the first of equal keys counts, and a
// value of another type than the one asked for is an internal error.
type Object struct {
	text []byte
	at   int
}

// Value is one JSON value of an object.
type Value struct {
	text []byte
	at   int
}

// ParseObject checks the syntax of a whole request body. Another value than an
// object is taken as one without members, as Triton does.
func ParseObject(body []byte) (Object, error) {
	var r reader
	r.reset(body)
	if !r.document() {
		return Object{}, r.err()
	}
	r.reset(body)
	r.space()
	return Object{body, r.i}, nil
}

func cursor(text []byte, at int) *reader { return &reader{b: text, i: at} }

// Get finds a member; false when there is none.
func (o Object) Get(name string) (Value, bool) {
	r := cursor(o.text, o.at)
	if !r.find(o.at, name) {
		return Value{}, false
	}
	return Value{o.text, r.i}, true
}

// Each calls visit with every member in text order until it returns an error.
func (o Object) Each(visit func(name string, v Value) error) error {
	r := cursor(o.text, o.at)
	if !r.is('{') {
		return nil
	}
	r.i++
	for first := true; ; first = false {
		name, ok := r.member(first)
		if !ok || name == nil {
			return nil // the syntax was checked
		}
		if err := visit(string(name), Value{o.text, r.i}); err != nil {
			return err
		}
		if !r.skip(0) {
			return nil
		}
	}
}

func accessError(text string) error { return &status.Error{Code: status.Internal, Msg: text} }

// IsNull says whether the value is null.
func (v Value) IsNull() bool { return cursor(v.text, v.at).is('n') }

// String is a string value.
func (v Value) String() (string, error) {
	r := cursor(v.text, v.at)
	if !r.is('"') {
		return "", accessError(errString)
	}
	s, ok := r.str()
	if !ok {
		return "", r.err()
	}
	return string(s), nil
}

// Bool is a boolean value.
func (v Value) Bool() (bool, error) {
	b, ok := cursor(v.text, v.at).bool()
	if !ok {
		return false, accessError(errBool)
	}
	return b, nil
}

// Uint is an unsigned integer, written without fraction or exponent.
func (v Value) Uint() (uint64, error) {
	n, ok := cursor(v.text, v.at).uint()
	if !ok {
		return 0, accessError(errUint)
	}
	return n, nil
}

// Object is an object value.
func (v Value) Object() (Object, error) {
	if !cursor(v.text, v.at).is('{') {
		return Object{}, accessError("attempt to access JSON non-object as object")
	}
	return Object(v), nil
}

// Strings is an array of strings.
func (v Value) Strings() ([]string, error) {
	r := cursor(v.text, v.at)
	if !r.is('[') {
		return nil, accessError(errArray)
	}
	r.i++
	var all []string
	for first := true; ; first = false {
		more, ok := r.element(first)
		if !ok || !more {
			return all, nil // the syntax was checked
		}
		if !r.is('"') {
			return nil, accessError(errString)
		}
		s, ok := r.str()
		if !ok {
			return nil, r.err()
		}
		all = append(all, string(s))
	}
}
