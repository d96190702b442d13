package rest

import "triton/pkg/status"

// The type errors of JSON values, in Triton's words. They are internal errors
// there, hence status 500.
const (
	errString = "attempt to access JSON non-string as string"
	errBool   = "attempt to access JSON non-boolean as boolean"
	errInt    = "attempt to access JSON non-signed-integer as signed-integer"
	errUint   = "attempt to access JSON non-unsigned-integer as unsigned-integer"
	errDouble = "attempt to access JSON non-number as double"
	errArray  = "attempt to access JSON non-array as array"
)

func within(context, text string) error {
	return &status.Error{Code: status.Internal, Msg: context + ": " + text}
}

func missing(name string) error {
	return within("Unable to parse '"+name+"'", "attempt to access non-existing object member '"+name+"'")
}

// uint reads an unsigned integer; false when another value stands there.
func (r *reader) uint() (uint64, bool) {
	if c := r.peek(); c != '-' && c-'0' > 9 {
		return 0, false
	}
	var n number
	if !r.number(&n) {
		return 0, false
	}
	return n.unsigned()
}

// bool reads true or false; ok is false when another value stands there.
func (r *reader) bool() (v, ok bool) {
	switch r.peek() {
	case 't':
		return true, r.literal("true")
	case 'f':
		return false, r.literal("false")
	}
	return false, false
}
