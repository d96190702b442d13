package policy

import "strings"

// pattern selects versions of models.
type pattern struct {
	name    string
	version string // empty: all, and requests that name none
}

// parsePattern reads "<model>" or "<model>:<version>".
func parsePattern(text string) pattern {
	if i := strings.LastIndexByte(text, ':'); i >= 0 {
		if v := text[i+1:]; v != "" && strings.Trim(v, "0123456789*?") == "" {
			return pattern{text[:i], v}
		}
	}
	return pattern{name: text}
}

// glob reports whether a text matches a pattern in which * is any text and ? any byte. The
// time is proportional to the product of their lengths at most.
func glob(pattern, text string) bool {
	star, retry := -1, 0 // the last *, and where the text after it was tried
	p, t := 0, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, retry = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0:
			retry++
			p, t = star+1, retry
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
