package profile

import (
	"slices"
	"strconv"
	"strings"

	"triton/analyzer/profile"
	"triton/analyzer/search"
)

// bucketsParameter is the parameter of a configuration with the lengths to which inputs are padded.
const bucketsParameter = "length_buckets"

// bucketAxis returns the axis of the length buckets of a model that has some: its other parameters
// say which inputs to pad, which nobody can guess.
func bucketAxis(m profile.Model) (a search.Axis, why string) {
	if m.Parameters.Has("parameters") {
		return a, "model_config_parameters list its values"
	}
	var given []int
	for text := range strings.SplitSeq(m.Config.GetParameters()[bucketsParameter].GetStringValue(), ",") {
		if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil && n > 0 {
			given = append(given, n)
		}
	}
	if len(given) == 0 {
		return a, "the model has no parameter length_buckets"
	}
	var lists []string
	for _, list := range otherBuckets(given) {
		texts := make([]string, len(list))
		for i, n := range list {
			texts[i] = strconv.Itoa(n)
		}
		lists = append(lists, strings.Join(texts, ", "))
	}
	return search.Buckets(lists...), ""
}

// otherBuckets returns the alternatives to length buckets, all with the same longest one: twice as
// many, which pad less; half as many, whose batches are larger; and one.
func otherBuckets(given []int) [][]int {
	var fine, coarse []int
	for i, n := range given {
		before := 0
		if i > 0 {
			before = given[i-1]
		}
		if middle := before + (n-before)/2; middle > before {
			fine = append(fine, middle)
		}
		fine = append(fine, n)
		if (len(given)-1-i)%2 == 0 {
			coarse = append(coarse, n)
		}
	}
	var lists [][]int
	for _, list := range [][]int{fine, coarse, given[len(given)-1:]} {
		known := func(other []int) bool { return slices.Equal(list, other) }
		if !known(given) && !slices.ContainsFunc(lists, known) {
			lists = append(lists, list)
		}
	}
	return lists
}
