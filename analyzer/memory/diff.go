package memory

import (
	"slices"
	"strings"
)

// near is how many unchanged lines surround a change.
const near = 1

// diffLines returns what changes from one text to another, as lines that begin with -, + or a blank. It compares
// all pairs of lines, which suffices for a configuration.
func diffLines(from, to string) []string {
	a, b := linesOf(from), linesOf(to)
	// common[i][j] is the length of the longest common subsequence of a[i:] and b[j:].
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var all []string
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			all = append(all, " "+a[i])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			all = append(all, "-"+a[i])
			i++
		default:
			all = append(all, "+"+b[j])
			j++
		}
	}
	return nearChanges(all)
}

func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// nearChanges keeps the changed lines and those next to them.
func nearChanges(all []string) []string {
	var kept []string
	for i, line := range all {
		around := all[max(0, i-near):min(len(all), i+near+1)]
		if slices.ContainsFunc(around, func(s string) bool { return s[0] != ' ' }) {
			kept = append(kept, line)
		}
	}
	return kept
}
