package tritonjson

import (
	"math"

	"triton/pkg/status"
)

// The type errors of JSON values in Triton's words. Triton reports them as
// internal errors, HTTP status 500; they are the client's mistakes.
var (
	ErrString = accessError("attempt to access JSON non-string as string")
	ErrArray  = accessError("attempt to access JSON non-array as array")
	errBool   = accessError("attempt to access JSON non-boolean as boolean")
	errInt    = accessError("attempt to access JSON non-signed-integer as signed-integer")
	ErrUint   = accessError("attempt to access JSON non-unsigned-integer as unsigned-integer")
	errDouble = accessError("attempt to access JSON non-number as double")
	errObject = accessError("attempt to access JSON non-object as object")
)

// ErrDepth is the error of JSON that is nested too deeply.
var ErrDepth = &status.Error{Code: status.InvalidArg, Msg: reasonDepth}

// ErrRange is the error of a number that the type asked for cannot hold.
var ErrRange = &status.Error{Code: status.InvalidArg, Msg: "the number is out of range"}

func accessError(text string) error { return &status.Error{Code: status.InvalidArg, Msg: text} }

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

// Int reads an integer that is written without fraction and exponent. One that int64 cannot
// hold is ErrRange.
func (r *Reader) Int() (int64, error) {
	var n number
	if !r.number(&n) || !n.integer {
		return 0, errInt
	}
	v, ok := n.signed()
	if !ok {
		return 0, ErrRange
	}
	return v, nil
}

// Uint reads an integer that is not negative, like Int. Minus zero is zero.
func (r *Reader) Uint() (uint64, error) {
	var n number
	if !r.number(&n) || !n.integer || n.neg && (n.mant != 0 || !n.exact) {
		return 0, ErrUint
	}
	if !n.exact {
		return 0, ErrRange
	}
	return n.mant, nil
}

// IntBetween reads an integer, like Int, and returns it in two's complement. One below low
// or above high is ErrRange; r has read it then.
func (r *Reader) IntBetween(low int64, high uint64) (uint64, error) {
	var n number
	switch {
	case r.number(&n) && n.integer:
	case low < 0:
		return 0, errInt
	default:
		return 0, ErrUint
	}
	// -low is the magnitude of low, also of the lowest int64.
	if !n.exact || !n.neg && n.mant > high || n.neg && n.mant > uint64(-low) {
		return 0, ErrRange
	}
	if n.neg {
		return -n.mant, nil
	}
	return n.mant, nil
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

// Float32 is Float64 rounded once more. A finite number that float32 cannot hold is
// ErrRange; r has read it then.
func (r *Reader) Float32() (float32, error) {
	var n number
	if !r.number(&n) {
		return 0, errDouble
	}
	f := n.float32(r.text)
	if math.IsInf(float64(f), 0) && !n.special {
		return 0, ErrRange
	}
	return f, nil
}
