package audit

import (
	"strconv"
	"time"

	"triton/pkg/tritonjson"
)

// Record is one call.
type Record struct {
	Time      time.Time
	Principal string
	Source    string // address of the caller
	Protocol  string
	Method    string // of HTTP with the path, or the name of the call in gRPC
	Action    string
	Model     string
	Version   string
	ID        string // of the request
	Result    string // allowed, denied, unauthenticated, delayed
	Status    string // of the reply
	Duration  time.Duration
}

// maxField bounds what callers choose, in bytes.
const maxField = 1 << 10

// append adds the record as a line of JSON. Texts of callers are escaped, so that no text can
// end the line or look like another field.
func (r *Record) append(b []byte) []byte {
	b = append(b, `{"time":"`...)
	b = r.Time.UTC().AppendFormat(b, "2006-01-02T15:04:05.000000Z")
	b = append(b, '"')
	for _, f := range [...]struct{ name, value string }{
		{"principal", r.Principal},
		{"source", r.Source},
		{"protocol", r.Protocol},
		{"method", r.Method},
		{"action", r.Action},
		{"model", r.Model},
		{"version", r.Version},
		{"id", r.ID},
		{"result", r.Result},
		{"status", r.Status},
	} {
		if f.value == "" {
			continue
		}
		b = append(append(append(b, `,"`...), f.name...), `":`...)
		b = tritonjson.AppendValid(b, f.value[:min(len(f.value), maxField)])
	}
	b = append(b, `,"duration_us":`...)
	b = strconv.AppendInt(b, r.Duration.Microseconds(), 10)
	return append(b, '}', '\n')
}
