package report

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"triton/perf"
	"triton/pkg/ui"
)

func has(levels []*perf.Level, what func(l *perf.Level) bool) bool {
	return slices.ContainsFunc(levels, what)
}

// percentileColumns are the percentiles, those of the first level that has some, and the
// highest latency.
func percentileColumns(levels []*perf.Level) []column {
	var columns []column
	add := func(p float64, spare int, of func(l *perf.Level) perf.Percentile) {
		c := duration(fmt.Sprintf("p%g", p), fmt.Sprintf("p%g_us", p), spare, func(l *perf.Level) time.Duration { return of(l).Latency })
		text := c.text
		c.text = func(l *perf.Level) string {
			if q := of(l); l.Requests > 0 && q.Samples > 0 && q.Few() {
				return text(l) + fewMark
			}
			return text(l)
		}
		columns = append(columns, c)
	}
	if i := slices.IndexFunc(levels, func(l *perf.Level) bool { return len(l.Percentiles) > 0 }); i >= 0 {
		list := levels[i].Percentiles
		for k, p := range list {
			spare := 3
			switch k {
			case len(list) - 1:
				spare = 0
			case 0:
				spare = 2
			}
			add(p.P, spare, func(l *perf.Level) perf.Percentile {
				if k < len(l.Percentiles) {
					return l.Percentiles[k]
				}
				return perf.Percentile{}
			})
		}
	}
	if has(levels, moreTail) {
		add(99.9, 5, func(l *perf.Level) perf.Percentile { return l.P999 })
	}
	if has(levels, func(l *perf.Level) bool { return l.MaxLatency > 0 }) {
		columns = append(columns, duration("Max", "max_us", 5, func(l *perf.Level) time.Duration { return l.MaxLatency }))
	}
	return columns
}

// moreTail reports whether p99.9 is known and not one of the percentiles of the level.
func moreTail(l *perf.Level) bool {
	return l.P999.Samples > 0 && !slices.ContainsFunc(l.Percentiles, func(p perf.Percentile) bool { return p.P == l.P999.P })
}

// scheduleColumns say how well the client kept its schedule.
func scheduleColumns() []column {
	late := func(l *perf.Level) string {
		if l.Schedule == nil {
			return ""
		}
		return fmt.Sprintf("%.1f", 100*float64(l.Schedule.Delayed)/float64(l.Requests))
	}
	share := measured(number("Late %", "late_percent", late))
	share.spare = 2
	return []column{
		share,
		duration("p99 from schedule", "schedule_p99_us", 1, func(l *perf.Level) time.Duration {
			if l.Schedule == nil {
				return 0
			}
			return l.Schedule.Latency(99)
		}),
	}
}

// serverColumns split the time on the server.
func serverColumns() []column {
	split := func(title, name string, of func(s serverSplit) time.Duration) column {
		c := column{title: title, name: name, spare: 4}
		c.text = func(l *perf.Level) string {
			if l.Server == nil {
				return ""
			}
			return ui.Duration(of(serverTimes(l.Server)))
		}
		c.value = func(l *perf.Level) string {
			if l.Server == nil {
				return ""
			}
			return microseconds(of(serverTimes(l.Server)))
		}
		return measured(c)
	}
	batch := func(l *perf.Level) string {
		if l.Server == nil || l.Server.Executions == 0 {
			return ""
		}
		return fmt.Sprintf("%.1f", float64(l.Server.Inferences)/float64(l.Server.Executions))
	}
	executed := measured(number("Batch executed", "batch_executed", batch))
	executed.spare = 6
	return []column{
		split("Server queue", "server_queue_us", func(s serverSplit) time.Duration { return s.queue }),
		split("Server compute", "server_compute_us", func(s serverSplit) time.Duration { return s.input + s.infer + s.output }),
		executed,
	}
}

// trustColumns say how far the figures can be trusted.
func trustColumns(levels []*perf.Level) []column {
	var columns []column
	if has(levels, func(l *perf.Level) bool { return l.Process != nil }) {
		cores := func(format string) func(l *perf.Level) string {
			return func(l *perf.Level) string {
				if l.Process == nil {
					return ""
				}
				return fmt.Sprintf(format, l.Process.Busy()*l.Process.Cores, l.Process.Cores)
			}
		}
		columns = append(columns, column{title: "Client cores", name: "client_cores", spare: 7, text: cores("%.2f of %g"), value: cores("%.3[1]f")})
	}
	if has(levels, func(l *perf.Level) bool { return l.Errors > 0 }) {
		columns = append(columns, column{name: "errors", value: func(l *perf.Level) string { return strconv.FormatUint(l.Errors, 10) }})
	}
	if has(levels, func(l *perf.Level) bool { return l.Grade != "" }) {
		grade := func(l *perf.Level) string { return string(l.Grade) }
		columns = append(columns, column{title: "Grade", name: "grade", spare: 1, left: true, text: grade, value: grade})
	}
	return columns
}
