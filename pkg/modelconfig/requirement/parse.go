package requirement

import (
	"strconv"
	"strings"

	"triton/pkg/status"
)

// ParseInteger returns the number that the text of a parameter begins with, after blanks. Like Triton's ONNX Runtime
// backend it ignores what follows; this one, ParseSize and ParseBool have its texts for what cannot be read.
func ParseInteger(text string) (int, error) {
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

// ParseSize returns a number of bytes.
func ParseSize(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, status.New(status.InvalidArg, "failed to convert '%s' to integral number", text)
	}
	return n, nil
}

// ParseBool returns the truth value of a text.
func ParseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "on", "1":
		return true, nil
	case "false", "off", "0":
		return false, nil
	}
	return false, status.New(status.InvalidArg, "failed to convert '%s' to boolean", text)
}
