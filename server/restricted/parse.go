package restricted

import (
	"fmt"
	"slices"
	"strings"
)

// The two options differ in their word for a category, which Parse gets.
const (
	HTTP = "api"      // --http-restricted-api
	GRPC = "protocol" // --grpc-restricted-protocol
)

// Parse reads the arguments of one of the options, each
// "<category>[,<category>...]:<header>=<value>". Its errors are Triton's. A category may occur in
// one argument only.
func Parse(word string, args []string) (Rules, error) {
	var rules Rules
	for _, arg := range args {
		list, rest, ok := strings.Cut(arg, ":")
		name, value, ok2 := strings.Cut(rest, "=")
		if !ok || !ok2 || list == "" || name == "" || value == "" {
			return Rules{}, fmt.Errorf("--%s option format is '<config name>:<setting>=<value>'. Got %s", option(word), arg)
		}
		need := &Header{name, value}
		for category := range strings.SplitSeq(list, ",") {
			a := slices.Index(names[:], category)
			if a < 0 {
				return Rules{}, fmt.Errorf("unknown restricted %s '%s' ", word, category)
			}
			if rules.need[a] != nil {
				return Rules{}, fmt.Errorf("restricted %s '%s' can not be specified in multiple config groups", word, category)
			}
			rules.need[a] = need
		}
	}
	return rules, nil
}

func option(word string) string {
	if word == GRPC {
		return "grpc-restricted-protocol"
	}
	return "http-restricted-api"
}
