package capitest

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A Header is one header of the API.
type Header struct {
	Name         string // of the file, without ".h"
	Prefix       string // of its macros
	Major, Minor int
	Items        []Item // in the order of the description
}

// A Kind is what an item is.
type Kind string

// The kinds of items.
const (
	Opaque   Kind = "opaque"
	Enum     Kind = "enum"
	Callback Kind = "callback"
	Func     Kind = "func"  // the server provides it
	Entry    Kind = "entry" // a library provides it
)

// An Item is a type or a function.
type Item struct {
	Kind    Kind
	Name    string
	Meaning string
	Tag     string   // of an enum
	Values  []Value  // of an enum
	Args    []string // in C
	Result  string   // in C; of functions and callbacks
}

// A Value is one value of an enum.
type Value struct {
	Name   string
	Number int
}

// errorResult is the result of functions whose description has none.
const errorResult = "TRITONSERVER_Error*"

// Parse reads a description.
func Parse(r io.Reader) ([]Header, error) {
	var headers []Header
	var meaningless bool // the last item has no meaning yet
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if text, indented := strings.CutPrefix(line, "\t"); indented {
			item := last(headers)
			switch {
			case item == nil:
				return nil, fmt.Errorf("line %d: no item before %q", n, text)
			case meaningless:
				item.Meaning, meaningless = text, false
			default:
				value, err := parseValue(text)
				if err != nil {
					return nil, fmt.Errorf("line %d: %w", n, err)
				}
				item.Values = append(item.Values, value)
			}
			continue
		}
		if meaningless {
			return nil, fmt.Errorf("line %d: the item before has no meaning", n)
		}
		word, rest, _ := strings.Cut(line, " ")
		if word == "header" {
			headers = append(headers, Header{Name: rest})
			continue
		}
		if len(headers) == 0 {
			return nil, fmt.Errorf("line %d: %q before the first header", n, word)
		}
		h := &headers[len(headers)-1]
		if word == "version" {
			if _, err := fmt.Sscanf(rest, "%s %d %d", &h.Prefix, &h.Major, &h.Minor); err != nil {
				return nil, fmt.Errorf("line %d: version: %w", n, err)
			}
			continue
		}
		item, err := parseItem(Kind(word), rest)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		h.Items = append(h.Items, item)
		meaningless = true
	}
	if meaningless {
		return nil, fmt.Errorf("the last item has no meaning")
	}
	return headers, lines.Err()
}

func last(headers []Header) *Item {
	if len(headers) == 0 || len(headers[len(headers)-1].Items) == 0 {
		return nil
	}
	items := headers[len(headers)-1].Items
	return &items[len(items)-1]
}

func parseItem(kind Kind, text string) (Item, error) {
	switch kind {
	case Opaque:
		return Item{Kind: kind, Name: text}, nil
	case Enum:
		name, tag, found := strings.Cut(text, " ")
		if !found {
			return Item{}, fmt.Errorf("enum %s has no tag", name)
		}
		return Item{Kind: kind, Name: name, Tag: tag}, nil
	case Func, Entry, Callback:
		signature, result, found := strings.Cut(text, " -> ")
		if !found {
			result = errorResult
		}
		name, args, opened := strings.Cut(signature, "(")
		args, closed := strings.CutSuffix(args, ")")
		if !opened || !closed || args == "" {
			return Item{}, fmt.Errorf("%s: arguments must be in parentheses", name)
		}
		return Item{Kind: kind, Name: name, Args: strings.Split(args, ", "), Result: result}, nil
	}
	return Item{}, fmt.Errorf("unknown word %q", kind)
}

func parseValue(text string) (Value, error) {
	name, number, found := strings.Cut(text, " = ")
	if !found {
		return Value{}, fmt.Errorf("%q is not a value", text)
	}
	n, err := strconv.Atoi(number)
	if err != nil {
		return Value{}, err
	}
	return Value{Name: name, Number: n}, nil
}
