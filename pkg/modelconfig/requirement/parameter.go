package requirement

import (
	"fmt"
	"strconv"
	"strings"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
)

// Count returns a parameter that is a number; 0 if it is not set or empty.
func Count(c *inferencepb.ModelConfig, name string) (int64, error) {
	text := c.GetParameters()[name].GetStringValue()
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return 0, status.New(status.InvalidArg, "parameter '%s' must be a number that is not negative, got '%s'", name, text)
	}
	return n, nil
}

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

// Bool returns the truth value of a text, as the ONNX Runtime backend reads it.
func Bool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "on", "1":
		return true, nil
	case "false", "off", "0":
		return false, nil
	}
	return false, status.New(status.InvalidArg, "failed to convert '%s' to boolean", text)
}

// parameter reports an error about a parameter.
func (k *checker) parameter(name, hint string, err error) {
	if err != nil {
		k.add(ruleParameters, fmt.Sprintf("parameters[%q]", name), hint, "%s", err.Error())
	}
}

// counts checks parameters that are numbers.
func (k *checker) counts(names ...string) {
	for _, name := range names {
		_, err := Count(k.ModelConfig, name)
		k.parameter(name, "write a whole number, such as \"1\"", err)
	}
}
