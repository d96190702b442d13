package report

import (
	"strconv"
	"strings"
)

// formatSizes formats batch sizes; three or more consecutive sizes become first:last.
func formatSizes(list []int) string {
	var parts []string
	for i := 0; i < len(list); {
		k := i
		for k+1 < len(list) && list[k+1] == list[k]+1 {
			k++
		}
		if k-i < 2 {
			parts = append(parts, strconv.Itoa(list[i]))
			i++
			continue
		}
		parts = append(parts, strconv.Itoa(list[i])+":"+strconv.Itoa(list[k]))
		i = k + 1
	}
	return strings.Join(parts, ",")
}
