package infer

import (
	"strconv"
	"strings"

	"triton/pkg/status"
)

// CheckModelName checks the name of a model that a client loads: a store may use it as the name of
// a folder.
func CheckModelName(name string) error {
	switch trimmed := strings.TrimSpace(name); {
	case trimmed == "":
		return status.New(status.InvalidArg, "Model name cannot be empty. Please enter a valid name to deploy.")
	case trimmed == ".." || strings.Contains(trimmed, "/"):
		return status.New(status.InvalidArg, "invalid model name '%s', model name must not contain path traversal characters", name)
	}
	return nil
}

// ParseVersion parses the version of a request like C's stol: it ignores text after the number.
// It accepts version 0, because a model may have a folder of that name.
func ParseVersion(s string) (int64, error) {
	digits := strings.TrimLeft(s, " \t\n\v\f\r")
	end := 0
	for end < len(digits) && (digits[end]-'0' < 10 || end == 0 && (digits[0] == '-' || digits[0] == '+')) {
		end++
	}
	n, err := strconv.ParseInt(digits[:end], 10, 64)
	if err != nil {
		return 0, status.New(status.InvalidArg,
			"failed to get model version from specified version string '%s' (details: stol), version should be an integral value > 0", s)
	}
	if n < 0 {
		return 0, status.New(status.InvalidArg, "invalid model version specified '%s' , version should be an integral value > 0", s)
	}
	return n, nil
}
