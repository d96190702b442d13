package requirement

import (
	"fmt"
	"strconv"

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
