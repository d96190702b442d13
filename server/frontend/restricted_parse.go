package frontend

import (
	"fmt"
	"slices"
	"strings"
)

// The two options differ in their word for a category, which ParseRestrictions gets.
const (
	RestrictedAPI      = "api"      // --http-restricted-api
	RestrictedProtocol = "protocol" // --grpc-restricted-protocol
)

// ParseRestrictions reads the arguments of one of the options, each
// "<category>[,<category>...]:<header>=<value>". Its errors are Triton's. A category may occur in
// one argument only.
func ParseRestrictions(word string, args []string) (Restrictions, error) {
	var rules Restrictions
	for _, arg := range args {
		list, rest, ok := strings.Cut(arg, ":")
		name, value, ok2 := strings.Cut(rest, "=")
		if !ok || !ok2 || list == "" || name == "" || value == "" {
			return Restrictions{}, fmt.Errorf("--%s option format is '<config name>:<setting>=<value>'. Got %s", restrictionOption(word), arg)
		}
		need := &SecretHeader{name, value}
		for category := range strings.SplitSeq(list, ",") {
			a := slices.Index(categoryNames[:], category)
			if a < 0 {
				return Restrictions{}, fmt.Errorf("unknown restricted %s '%s' ", word, category)
			}
			if rules.need[a] != nil {
				return Restrictions{}, fmt.Errorf("restricted %s '%s' can not be specified in multiple config groups", word, category)
			}
			rules.need[a] = need
		}
	}
	return rules, nil
}

func restrictionOption(word string) string {
	if word == RestrictedProtocol {
		return "grpc-restricted-protocol"
	}
	return "http-restricted-api"
}
