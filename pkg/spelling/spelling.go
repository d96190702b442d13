// Package spelling finds the known name that is nearest to a misspelled one, for messages
// such as "did you mean". It knows no names itself.
package spelling

import "fmt"

// maxLen bounds the names that are compared, in bytes: the work grows with the
// square of the length.
const maxLen = 64

// Nearest returns the name with the smallest edit distance from name, the first of several.
// It reports false if none is near. The edit distance may be at most a third of the length
// of name, or 1 if that is more, and must be less than the length.
func Nearest(name string, names []string) (string, bool) {
	return Within(min(len(name)-1, max(1, len(name)/3)), name, names)
}

// Hint returns what to do about a name that is none of the names: the nearest of them, or else
// otherwise.
func Hint(name string, names []string, otherwise string) string {
	if near, ok := Nearest(name, names); ok && near != name {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return otherwise
}

// Within is Nearest with a maximum number of edits.
func Within(edits int, name string, names []string) (string, bool) {
	if len(name) > maxLen {
		return "", false
	}
	best, found := "", false
	for _, n := range names {
		if d := distance(name, n); d <= edits {
			best, edits, found = n, d-1, true
		}
	}
	return best, found
}

// distance returns the optimal string alignment distance: the number of bytes to
// change, insert, delete or swap with the next one that turns a into b.
func distance(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	before, last, row := rows[0], rows[1], rows[2]
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
