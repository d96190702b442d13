package top

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"triton/pkg/ui"
)

// column is one column of the table.
type column struct {
	name  string // of --sort
	title string
	align ui.Align
	// spare columns are left out on narrow terminals, those with the highest value first.
	spare int
	text  func(r *Row) string
	// number is what rows are sorted by, the highest first; nil: they are sorted by text.
	number func(r *Row) *float64
}

// columns are the columns from left to right. Their names are values of --sort.
var columns = []column{
	{"model", "MODEL", ui.Left, 0, func(r *Row) string { return r.Model }, nil},
	{"version", "VER", ui.Left, 0, func(r *Row) string { return r.Version }, nil},
	{"state", "STATE", ui.Left, 4, func(r *Row) string { return strings.ToLower(r.State) }, nil},
	numeric("requests", "REQ/S", 0, rate, func(r *Row) *float64 { return r.Requests }),
	numeric("failures", "FAIL/S", 2, rate, func(r *Row) *float64 { return r.Failures }),
	numeric("latency", "LATENCY", 1, micros, func(r *Row) *float64 { return r.Latency }),
	numeric("queue", "QUEUE", 3, micros, func(r *Row) *float64 { return r.Queue }),
	numeric("compute", "COMPUTE", 5, micros, func(r *Row) *float64 { return r.Compute }),
	numeric("pending", "PEND", 6, whole, func(r *Row) *float64 { return r.Pending }),
	numeric("in-flight", "FLIGHT", 8, whole, func(r *Row) *float64 { return r.InFlight }),
	numeric("batch", "BATCH", 7, oneDecimal, func(r *Row) *float64 { return r.Batch }),
	numeric("cache", "CACHE", 10, percent, func(r *Row) *float64 { return r.CacheHits }),
	numeric("memory", "MEMORY", 9, ui.Bytes, func(r *Row) *float64 { return r.MemoryBytes }),
}

func numeric(name, title string, spare int, format func(float64) string, value func(*Row) *float64) column {
	return column{name, title, ui.Right, spare, func(r *Row) string {
		if v := value(r); v != nil {
			return format(*v)
		}
		return "-"
	}, value}
}

func rate(v float64) string {
	if v == 0 {
		return "0"
	}
	return ui.Number(v)
}

func micros(v float64) string     { return ui.Duration(time.Duration(v * float64(time.Microsecond))) }
func whole(v float64) string      { return strconv.FormatFloat(v, 'f', 0, 64) }
func oneDecimal(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
func percent(v float64) string    { return strconv.FormatFloat(v, 'f', 0, 64) + " %" }

// columnNames returns the values of --sort.
func columnNames() []string {
	var all []string
	for _, c := range columns {
		all = append(all, c.name)
	}
	return all
}

// order sorts rows by a column: the highest numbers first, texts from a to z. Rows without a value
// are last in both directions; rows that are equal are sorted by model and version.
func order(rows []Row, by string, reverse bool) {
	c := columns[max(0, slices.Index(columnNames(), by))]
	slices.SortStableFunc(rows, func(a, b Row) int {
		n := 0
		if c.number == nil {
			n = natural(c.text(&a), c.text(&b))
		} else {
			x, y := c.number(&a), c.number(&b)
			switch {
			case x == nil || y == nil:
				if x != nil {
					return -1
				}
				if y != nil {
					return 1
				}
			default:
				n = cmp.Compare(*y, *x)
			}
		}
		if reverse {
			n = -n
		}
		return cmp.Or(n, strings.Compare(a.Model, b.Model), natural(a.Version, b.Version))
	})
}

// natural compares texts, and numbers by their value.
func natural(a, b string) int {
	x, errX := strconv.Atoi(a)
	y, errY := strconv.Atoi(b)
	if errX == nil && errY == nil {
		return cmp.Compare(x, y)
	}
	return strings.Compare(a, b)
}
