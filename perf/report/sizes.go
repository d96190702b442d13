package report

import (
	"strconv"
	"strings"
)

// sizes formats batch sizes; runs of three and more become first:last.
func sizes(list []int) string {
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
