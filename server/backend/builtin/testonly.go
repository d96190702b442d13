package builtin

import (
	"strconv"

	"triton/pkg/status"
)

// testVariables reads the TEST_* variables, by which NVIDIA's test suites change what the
// backend query asks for.
func (m *queryModel) testVariables(getenv func(string) string) error {
	m.anonymous, m.fail = getenv("TEST_ANONYMOUS") != "", getenv("TEST_FAIL_WITH_QUERY_RESULT") != ""
	text := getenv("TEST_BYTE_SIZE")
	if text == "" {
		return nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return status.New(status.InvalidArg, "TEST_BYTE_SIZE must be a number that is not negative, got '%s'", text)
	}
	m.size = int(n)
	if m.anonymous {
		m.size /= 2
	}
	return nil
}
