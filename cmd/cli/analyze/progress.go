package analyze

import (
	"fmt"
	"io"
	"time"

	"triton/analyzer"
)

// progress writes a line for each event.
type progress struct {
	w           io.Writer
	done, total int
}

func (p *progress) observe(e analyzer.Event) {
	switch e := e.(type) {
	case analyzer.Launching:
		if e.Instances == 0 {
			fmt.Fprintln(p.w, "starting a server without models")
			return
		}
		fmt.Fprintf(p.w, "starting a server for instance count %d\n", e.Instances)
	case analyzer.Measured:
		p.done++
		at := fmt.Sprintf("[%d/%d] instances %d, batch %d, concurrency %d", p.done, p.total, e.Point.Instances, e.Point.Batch, e.Point.Concurrency)
		if e.Point.Err != nil {
			fmt.Fprintf(p.w, "%s: %v\n", at, e.Point.Err)
			return
		}
		fmt.Fprintf(p.w, "%s: %.1f inferences/s, p99 %.2f ms\n", at, e.Point.Throughput, float64(e.Point.P99)/float64(time.Millisecond))
	case analyzer.Exercising:
		fmt.Fprintf(p.w, "measuring memory while all %d instances execute batches of %d\n", e.Instances, e.Batch)
	case analyzer.GaveUp:
		if p.done > 0 { // otherwise analyze returns the error
			fmt.Fprintf(p.w, "no more instances are tried: %v\n", e.Err)
		}
	}
}
