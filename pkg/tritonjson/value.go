package tritonjson

import "triton/pkg/status"

// The type errors of JSON values in Triton's words. Triton reports them as
// internal errors, HTTP status 500.
var (
	ErrString = accessError("attempt to access JSON non-string as string")
	ErrArray  = accessError("attempt to access JSON non-array as array")
	errBool   = accessError("attempt to access JSON non-boolean as boolean")
	errInt    = accessError("attempt to access JSON non-signed-integer as signed-integer")
	errUint   = accessError("attempt to access JSON non-unsigned-integer as unsigned-integer")
	errDouble = accessError("attempt to access JSON non-number as double")
	errObject = accessError("attempt to access JSON non-object as object")
)

func accessError(text string) error { return &status.Error{Code: status.Internal, Msg: text} }

// Text reads a string. The result is a view of the text or, when the string has
// escapes, of scratch memory that the next string overwrites.
func (r *Reader) Text() ([]byte, error) {
	if !r.Is('"') {
		return nil, ErrString
	}
	s, ok := r.str()
	if !ok {
		return nil, r.Err()
	}
	return s, nil
}

// Bool reads true or false.
func (r *Reader) Bool() (bool, error) {
	switch r.Peek() {
	case 't':
		if r.literal("true") {
			return true, nil
		}
	case 'f':
		if r.literal("false") {
			return false, nil
		}
	}
	return false, errBool
}

// Int reads an integer that is written without fraction and exponent.
func (r *Reader) Int() (int64, error) {
	var n number
	if !r.number(&n) {
		return 0, errInt
	}
	v, ok := n.signed()
	if !ok {
		return 0, errInt
	}
	return v, nil
}

// Uint is Int for integers that are not negative. Minus zero is zero.
func (r *Reader) Uint() (uint64, error) {
	var n number
	if !r.number(&n) {
		return 0, errUint
	}
	v, ok := n.unsigned()
	if !ok {
		return 0, errUint
	}
	return v, nil
}

// Float64 reads a number, correctly rounded. (Triton's own reader may be some
// units in the last place off.)
func (r *Reader) Float64() (float64, error) {
	var n number
	if !r.number(&n) {
		return 0, errDouble
	}
	return n.float64(r.text), nil
}

// Float32 is Float64 rounded once more.
func (r *Reader) Float32() (float32, error) {
	var n number
	if !r.number(&n) {
		return 0, errDouble
	}
	return n.float32(r.text), nil
}
