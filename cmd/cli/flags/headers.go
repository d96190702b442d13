package flags

import (
	"strings"

	"triton/cmd/cli/process"
)

// Headers parses the values of --header, NAME:VALUE each. Errors do not show them, as they may be
// secrets.
func Headers(values []string) (map[string]string, error) {
	headers := map[string]string{}
	for i, text := range values {
		name, value, ok := strings.Cut(text, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, process.UsageError("--header number %d is not NAME:VALUE", i+1)
		}
		headers[name] = strings.TrimSpace(value)
	}
	return headers, nil
}
