package pbtxt

import (
	"strings"
)

// inline returns a value on one line. It returns false if the value has comments or is to stay on
// several lines.
func inline(v *Value) (string, bool) {
	if v.Opening != nil || len(v.Dangling) > 0 {
		return "", false
	}
	switch v.Kind {
	case Message:
		return inlineMessage(v)
	case List:
		return inlineList(v)
	default:
		return inlineScalar(v)
	}
}

func inlineScalar(v *Value) (string, bool) {
	var words []string
	for i, part := range v.Parts {
		if len(part.Leading) > 0 || part.Trailing != nil || i > 0 && v.Multiline {
			return "", false
		}
		words = append(words, quotes(part.Text))
	}
	return strings.Join(words, " "), true
}

func inlineMessage(v *Value) (string, bool) {
	if len(v.Fields) == 0 {
		return "{ }", true
	}
	if v.Multiline {
		return "", false
	}
	words := []string{"{"}
	for _, f := range v.Fields {
		if len(f.Leading) > 0 || f.Trailing != nil || f.Value == nil {
			return "", false
		}
		text, ok := inline(f.Value)
		if !ok {
			return "", false
		}
		words = append(words, f.Name+separator(f.Value)+text)
	}
	return strings.Join(append(words, "}"), " "), true
}

func inlineList(v *Value) (string, bool) {
	if len(v.Values) == 0 {
		return "[ ]", true
	}
	var words []string
	for _, e := range v.Values {
		if len(e.Leading) > 0 || e.Trailing != nil || e.Kind == Message && v.Multiline {
			return "", false
		}
		text, ok := inline(e)
		if !ok {
			return "", false
		}
		words = append(words, text)
	}
	return "[ " + strings.Join(words, ", ") + " ]", true
}

// quotes returns a string in double quotes if it needs no escapes for that; other words are
// returned as they are.
func quotes(text string) string {
	if text[0] != '\'' || strings.ContainsAny(text[1:], `"\`) {
		return text
	}
	return `"` + text[1:len(text)-1] + `"`
}
