package flags

// Closest returns the name that takes the fewest changes to get to, empty when all
// are far away.
func Closest(name string, among []string) string {
	best, least := "", len(name)/3+2
	for _, n := range among {
		if d := levenshtein(name, n); d < least {
			best, least = n, d
		}
	}
	return best
}

// levenshtein returns the Levenshtein distance in bytes.
func levenshtein(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
