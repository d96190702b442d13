// Package textvalue reads numbers and truth values from the texts of parameters as Triton's ONNX
// Runtime backend does, with its texts for what cannot be read.
package textvalue

import (
	"strconv"
	"strings"

	"triton/pkg/status"
)

// Integer returns the number that a text begins with, after blanks. Like Triton it ignores what
// follows.
func Integer(text string) (int, error) {
	v := strings.TrimLeft(text, " \t\n\v\f\r")
	end := 0
	if v != "" && (v[0] == '-' || v[0] == '+') {
		end++
	}
	for end < len(v) && '0' <= v[end] && v[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(v[:end], 10, 32)
	if err != nil {
		return int(n), status.New(status.InvalidArg, "failed to convert '%s' to integral number", text)
	}
	return int(n), nil
}

// Size returns a number of bytes.
func Size(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, status.New(status.InvalidArg, "failed to convert '%s' to integral number", text)
	}
	return n, nil
}

// Bool returns the truth value of a text.
func Bool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "on", "1":
		return true, nil
	case "false", "off", "0":
		return false, nil
	}
	return false, status.New(status.InvalidArg, "failed to convert '%s' to boolean", text)
}
