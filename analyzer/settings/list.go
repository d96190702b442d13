package settings

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// textsValue is a list of texts, separated by commas.
type textsValue struct{ to *[]string }

func (v textsValue) Set(text string) error { *v.to = splitList(text); return nil }
func (v textsValue) String() string        { return strings.Join(*v.to, ",") }
func (v textsValue) Type() string          { return "list" }
func (v textsValue) decode(f field)        { *v.to = f.texts() }

// splitList splits a text at commas. An empty text and "[]" are an empty list.
func splitList(text string) []string {
	text = strings.TrimSpace(text)
	if text == "" || text == "[]" {
		return []string{}
	}
	parts := strings.Split(text, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// texts returns a list of texts, which may be written as one text with commas.
func (f field) texts() []string {
	switch f.node.Kind {
	case yaml.MappingNode:
		f.fail("The value for field %q should not be a dictionary, current value is %q.", f.name, f.text())
		return nil
	case yaml.ScalarNode:
		return splitList(f.node.Value)
	}
	out := []string{}
	for _, item := range f.items() {
		if item.node.Kind != yaml.ScalarNode || isNull(item.node) {
			item.fail("The value for each item in the list should be a primitive value not %q for field %q.", item.text(), f.name)
			continue
		}
		out = append(out, item.node.Value)
	}
	return out
}

// maxList bounds the length of a list of numbers.
const maxList = 10_000

// intsValue is a list of numbers from 1. It is kept sorted, without duplicates.
type intsValue struct{ to *[]int }

func (v intsValue) String() string {
	texts := make([]string, len(*v.to))
	for i, n := range *v.to {
		texts[i] = strconv.Itoa(n)
	}
	return strings.Join(texts, ",")
}
func (v intsValue) Type() string { return "numbers" }

// Set reads numbers and ranges start:stop or start:stop:step, which include stop.
func (v intsValue) Set(text string) error {
	all := []int{}
	for _, part := range splitList(text) {
		bounds := strings.Split(part, ":")
		if len(bounds) > 3 {
			return fmt.Errorf("%q is not a range start:stop:step", shorten(part))
		}
		numbers := make([]int, len(bounds))
		for i, b := range bounds {
			n, err := parseInt(b, 1, anyInt)
			if err != nil {
				return err
			}
			numbers[i] = n
		}
		start, stop, step := numbers[0], numbers[0], 1
		if len(numbers) > 1 {
			stop = numbers[1]
		}
		if len(numbers) > 2 {
			step = numbers[2]
		}
		if start > stop {
			return fmt.Errorf("range %s: start should be less than stop", part)
		}
		var err error
		if all, err = appendRange(all, start, stop, step); err != nil {
			return err
		}
	}
	v.keep(all)
	return nil
}

func appendRange(all []int, start, stop, step int) ([]int, error) {
	if (stop-start)/step+1+len(all) > maxList {
		return nil, fmt.Errorf("the list has more than %d numbers", maxList)
	}
	for n := start; n <= stop; n += step {
		all = append(all, n)
	}
	return all, nil
}

func (v intsValue) keep(all []int) {
	slices.Sort(all)
	*v.to = slices.Compact(all)
}

func (v intsValue) decode(f field) {
	switch f.node.Kind {
	case yaml.MappingNode:
		v.decodeRange(f)
	case yaml.SequenceNode:
		all := []int{}
		for _, item := range f.items() {
			assign(item, func(text string) error {
				n, err := parseInt(text, 1, anyInt)
				all = append(all, n)
				return err
			})
		}
		if len(all) > maxList {
			f.fail("the list has more than %d numbers", maxList)
			return
		}
		v.keep(all)
	default:
		assign(f, v.Set)
	}
}

// decodeRange reads {start: 1, stop: 8, step: 2}.
func (v intsValue) decodeRange(f field) {
	bounds := map[string]int{"step": 1}
	keys := []string{}
	bad := false
	for _, m := range f.members() {
		keys = append(keys, m.key)
		if m.key != "start" && m.key != "stop" && m.key != "step" {
			continue
		}
		if text, ok := m.scalar(); ok {
			n, err := parseInt(text, 1, anyInt)
			if err != nil {
				m.fail("%v", err)
			}
			bounds[m.key] = n
			bad = bad || err != nil
		} else {
			bad = true
		}
	}
	start, hasStart := bounds["start"]
	stop, hasStop := bounds["stop"]
	_, hasStep := bounds["step"]
	known := 2
	if slices.Contains(keys, "step") {
		known = 3
	}
	switch {
	case bad:
	case !hasStart || !hasStop || !hasStep || len(keys) != known:
		f.fail(`If a dictionary is used for field %q, it should only contain "start" and "stop" key with an optional "step" key. Currently, contains ['%s'].`,
			f.name, strings.Join(keys, "', '"))
	case start > stop:
		f.fail(`When a dictionary is used for field %q, "start" should be less than "stop". Current value is %s.`, f.name, f.text())
	default:
		all, err := appendRange(nil, start, min(stop, math.MaxInt32), bounds["step"])
		if err != nil {
			f.fail("%v", err)
			return
		}
		v.keep(all)
	}
}
