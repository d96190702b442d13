package ui

import "fmt"

// Plural returns a count with its noun: "1 instance", "2 instances".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
