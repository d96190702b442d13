package analyze

import (
	"fmt"
	"io"
	"time"

	"triton/analyzer"
	"triton/analyzer/footprint"
	"triton/pkg/ui"
)

// progress writes a line for each event.
type progress struct {
	w           io.Writer
	done, total int
}

func (p *progress) observe(e analyzer.Event) {
	switch e := e.(type) {
	case analyzer.Step:
		p.step(e.Event)
	case analyzer.Measured:
		p.done++
		p.total = max(p.total, p.done) // a latency budget measures the settings with more counts
		at := fmt.Sprintf("[%d/%d] instances %d, batch %d, concurrency %d", p.done, p.total, e.Point.Instances, e.Point.Batch, e.Point.Concurrency)
		if e.Point.Err != nil {
			fmt.Fprintf(p.w, "%s: %v\n", at, e.Point.Err)
			return
		}
		fmt.Fprintf(p.w, "%s: %.1f inferences/s, p99 %.2f ms\n", at, e.Point.Throughput, float64(e.Point.P99)/float64(time.Millisecond))
	case analyzer.Stressing:
		verb := "execute"
		if e.Instances == 1 {
			verb = "executes"
		}
		fmt.Fprintf(p.w, "measuring memory while %s %s batches of %d\n", ui.Plural(e.Instances, "instance"), verb, e.Batch)
	}
}

// step writes a line before each server, and what it showed after it.
func (p *progress) step(e footprint.Event) {
	switch {
	case e.Instances == 0:
		fmt.Fprintln(p.w, "starting a server without models")
	case e.Done == nil:
		fmt.Fprintf(p.w, "starting a server for instance count %d: %s\n", e.Instances, e.Why)
	case e.Done.Failure != nil:
		if len(e.Result.Anchors) > 1 { // otherwise analyze returns the error
			fmt.Fprintf(p.w, "instance count %d: %v\n", e.Instances, e.Done.Failure)
		}
	default:
		for _, l := range e.Result.Limits {
			fmt.Fprintf(p.w, "instance count %d: peak %.1f MiB (%s)", e.Instances, float64(e.Done.Peak[l.Place])/(1<<20), l.Place)
			if l.Law != nil {
				fmt.Fprintf(p.w, "; %.1f MiB for each instance", l.Law.PerInstance.Value/(1<<20))
			}
			fmt.Fprintln(p.w)
		}
	}
}
