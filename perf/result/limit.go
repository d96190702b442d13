package result

import (
	"fmt"
	"strconv"
	"strings"
)

// Limit is a change of a figure that fails a comparison: p99>10% is a p99 that is more than 10 % higher.
//
// A limit is passed if the difference is more than chance, as for a verdict, and the estimate of the change is
// beyond the limit. The whole interval need not be: that would let differences of twice the limit pass.
type Limit struct {
	Figure string
	Above  bool    // the figure rises by more than Share, else it falls by more
	Share  float64 // 0.1 is 10 %
}

// ParseLimits reads a list of limits, such as p99>10%,throughput<5%.
func ParseLimits(text string) ([]Limit, error) {
	var all []Limit
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		at := strings.IndexAny(part, "<>")
		if at < 0 {
			return nil, fmt.Errorf("%q is no limit such as p99>10%% (10 %% higher) or throughput<5%% (5 %% lower)", part)
		}
		figures, err := ParseFigures(part[:at])
		if err != nil {
			return nil, err
		}
		number, percent := strings.CutSuffix(strings.TrimSpace(part[at+1:]), "%")
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if !percent || err != nil || !(v >= 0 && v < 1e4) {
			return nil, fmt.Errorf("%q: the limit must be a percentage such as 10%%", part)
		}
		all = append(all, Limit{Figure: figures[0], Above: part[at] == '>', Share: v / 100})
	}
	return all, nil
}

// passed reports whether a change is beyond the limit.
func (l Limit) passed(d *Difference) bool {
	return d.Figure == l.Figure && (l.Above && d.Change > l.Share || !l.Above && d.Change < -l.Share)
}
