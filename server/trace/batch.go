package trace

import (
	otel "go.opentelemetry.io/otel/trace"

	"triton/server/infer"
)

// batch is the record of one batch. The first sampled request of the batch keeps it.
type batch struct {
	start, end     int64
	rows, requests int
	links          []otel.Link // to the sampled requests
}

func newBatch(b *infer.Batch) *batch {
	times := &b.Requests[0].Times
	record := &batch{start: times.ComputeStart, end: times.ComputeEnd, rows: b.Rows, requests: len(b.Requests)}
	for _, r := range b.Requests {
		if t, ok := r.Trace.(*Trace); ok {
			record.links = append(record.links, otel.Link{SpanContext: t.span})
		}
	}
	return record
}
