package fix

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"triton/pkg/modelconfig"
)

// offset returns where a line and column are in a text.
func offset(src []byte, line, col int) (int, error) {
	at := 0
	for range line - 1 {
		n := bytes.IndexByte(src[at:], '\n')
		if n < 0 {
			return 0, errNothing
		}
		at += n + 1
	}
	if at+col-1 > len(src) {
		return 0, errNothing
	}
	return at + col - 1, nil
}

var (
	unquoted   = regexp.MustCompile(`^write (\w+) without quotes$`)
	firstWord  = regexp.MustCompile(`^(?:\w+|"[^"\n]*"|'[^'\n]*')`)
	ignoreRule = regexp.MustCompile(`^the comment suppresses (TRN\d+),`)
)

// misspelled writes the name of the schema for a field or value that it does not know, unless that
// is a mistake too, such as a field that is given already.
func misspelled(t target) (Fix, bool) {
	var right string
	if m := meant.FindStringSubmatch(t.Hint); m != nil {
		right, _ = strconv.Unquote(m[1])
	} else if m := unquoted.FindStringSubmatch(t.Hint); m != nil {
		right = m[1]
	}
	if right == "" {
		return Fix{}, false
	}
	return Fix{Title: "write " + right, right: right, apply: func(src []byte) ([]byte, error) {
		at, word, err := wordAt(src, t.Line, t.Col)
		if err != nil {
			return nil, err
		}
		out := splice(src, at, at+len(word), right)
		if mistakes(out)[modelconfig.Position{Line: t.Line, Col: t.Col}] {
			return nil, fmt.Errorf("%s instead of %s is wrong too", right, word)
		}
		return out, nil
	}}, true
}

// wordAt returns the word at a place and its offset.
func wordAt(src []byte, line, col int) (at int, word []byte, err error) {
	at, err = offset(src, line, col)
	if err != nil {
		return 0, nil, err
	}
	if word = firstWord.Find(src[at:]); len(word) == 0 {
		return 0, nil, errNothing
	}
	return at, word, nil
}

// mistakes returns where the reader finds mistakes.
func mistakes(src []byte) map[modelconfig.Position]bool {
	var found modelconfig.SyntaxErrors
	_, err := modelconfig.Parse("", src)
	errors.As(err, &found)
	places := make(map[modelconfig.Position]bool, len(found))
	for _, e := range found {
		places[e.Pos] = true
	}
	return places
}

func splice(src []byte, start, end int, text string) []byte {
	out := append([]byte(nil), src[:start]...)
	return append(append(out, text...), src[end:]...)
}

// comment removes a rule from a triton-lint comment, and the comment if it names no other.
func comment(t target) (Fix, bool) {
	m := ignoreRule.FindStringSubmatch(t.Msg)
	if m == nil {
		return Fix{}, false
	}
	return Fix{Title: "remove " + m[1] + " from the comment", apply: func(src []byte) ([]byte, error) {
		start, err := offset(src, t.Line, t.Col)
		if err != nil {
			return nil, err
		}
		end := start + len(src[start:])
		if n := bytes.IndexByte(src[start:], '\n'); n >= 0 {
			end = start + n
		}
		line := string(src[start:end])
		if !strings.Contains(line, m[1]) {
			return nil, errNothing
		}
		if list := regexp.MustCompile(`TRN\d{3}(?:[,\s]+TRN\d{3})+`).FindString(line); list != "" {
			rest := regexp.MustCompile(`(?:^`+m[1]+`[,\s]+|[,\s]+`+m[1]+`)`).ReplaceAllString(list, "")
			return splice(src, start, end, strings.Replace(line, list, rest, 1)), nil
		}
		for start > 0 && (src[start-1] == ' ' || src[start-1] == '\t') {
			start--
		}
		if (start == 0 || src[start-1] == '\n') && end < len(src) {
			end++ // the line had only the comment
		}
		return splice(src, start, end, ""), nil
	}}, true
}
