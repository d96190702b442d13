package traffic

import (
	"sync"

	"triton/pkg/trafficrules"
	"triton/server/infer"
)

// watch observes the responses of a submitted request. It is pooled; its last Send ends it.
type watch struct {
	next    infer.Sink
	samples [trafficrules.MaxChain]sample
	n       int
	start   int64
	copied  *shadowCopy
	sent    int // responses with data or an error
	err     error
	counted bool
}

var watches = sync.Pool{New: func() any { return &watch{} }}

// Send counts the request at its end and passes the response on. A copy is finished with the only
// response; that of a request with several is dropped.
func (w *watch) Send(resp *infer.Response, final bool) {
	if resp != nil {
		w.sent++
		if resp.Err != nil {
			w.err = resp.Err
		}
		if w.sent == 1 && final {
			w.copied.Finish(resp)
			w.copied = nil
		}
	}
	if w.sent > 1 || final {
		w.drop()
	}
	if final && !w.counted { // it is sent twice if the next sink panics
		w.counted = true
		addSamples(w.samples[:w.n], infer.Now()-w.start, w.err)
	}
	w.next.Send(resp, final)
	if final {
		*w = watch{}
		watches.Put(w)
	}
}

// drop drops the copy.
func (w *watch) drop() {
	w.copied.Drop()
	w.copied = nil
}
