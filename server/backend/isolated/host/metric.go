package host

import (
	"math"

	"triton/server/backend"
	"triton/server/backend/child"
)

// mirror tells the server of the metrics of a library.
type mirror struct{ post func(*child.Message) }

var _ backend.MetricMirror = mirror{}

func (m mirror) send(kind uint8, number uint32, rest func(*child.Message)) {
	var f child.Message
	f.Begin(Metric).Uint8(kind)
	f.Uint32(number)
	if rest != nil {
		rest(&f)
	}
	m.post(&f)
}

func (m mirror) Family(number uint32, name, help string, kind backend.MetricKind) {
	m.send(MetricFamily, number, func(f *child.Message) {
		f.String(name)
		f.String(help)
		f.Uint8(uint8(kind))
	})
}

func (m mirror) Metric(number, family uint32, labels []backend.MetricLabel, bounds []float64) {
	m.send(MetricNew, number, func(f *child.Message) {
		f.Uint32(family)
		f.Uint32(uint32(len(labels)))
		for _, l := range labels {
			f.String(l.Name)
			f.String(l.Value)
		}
		f.Uint32(uint32(len(bounds)))
		for _, b := range bounds {
			f.Uint64(math.Float64bits(b))
		}
	})
}

func (m mirror) Change(number uint32, c backend.MetricChange, v float64) {
	m.send(MetricChange, number, func(f *child.Message) {
		f.Uint8(uint8(c))
		f.Uint64(math.Float64bits(v))
	})
}

func (m mirror) Drop(number uint32) { m.send(MetricDrop, number, nil) }
