package perf

import "time"

// A light load leaves nearly all of a processor idle. With several processors each response then
// makes Go's scheduler wake up a second thread, in case there is more to do, which costs about
// as much as the request. Deps.OneThread lets the process avoid it.
const (
	lightRate  = 2000     // requests per second
	lightBytes = 50 << 20 // of requests, per second
	lightBusy  = 0.5      // of a processor; a load that takes more was not light
)

// light reports whether the load of a level is light, as far as is known before it runs. size is
// that of the largest request.
func (l Load) light(size int) bool {
	switch l.Mode {
	case Concurrency:
		return l.Concurrency() == 1
	case RequestRate, Intervals:
		return l.Value <= lightRate && l.Value*float64(size) <= lightBytes
	}
	return false
}

// setLight tells the process, if it is interested, whether the load is light. A load on a server in
// this process is not: the server needs the other processors.
func (r *run) setLight(light bool) {
	if r.deps.OneThread != nil && r.light != light && !r.settings.InProcess() {
		r.light = light
		r.deps.OneThread(light)
	}
}

// checkStillLight notices, after a window, that a load is not light after all.
func (r *run) checkStillLight(p *processUse) {
	if r.light && p != nil && p.CPU > time.Duration(lightBusy*float64(p.Duration)) {
		r.setLight(false)
	}
}
