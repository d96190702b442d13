package mirror

import (
	"fmt"
	"sync/atomic"
	"time"

	"triton/server/store/remote"
)

// Times of the log of downloads.
const (
	logAfter = 5 * time.Second
	logEvery = 10 * time.Second
)

// activity is a fetch of a model.
type activity struct {
	total, done, new atomic.Int64 // bytes: of all files, present, downloaded now
	name             string
	begin            time.Time
	m                *Mirror
	stop             chan struct{}
}

// begin registers a fetch. It logs its progress while it takes long.
func (m *Mirror) begin(name string, files []remote.Object) (a *activity, done func()) {
	a = &activity{name: name, begin: time.Now(), m: m, stop: make(chan struct{})}
	for _, f := range files {
		a.total.Add(f.Size)
	}
	m.mu.Lock()
	if other := m.busy[name]; other == nil || other.total.Load() < a.total.Load() {
		m.busy[name] = a
	}
	m.mu.Unlock()
	timer := time.AfterFunc(logAfter, a.log)
	return a, func() {
		timer.Stop()
		close(a.stop)
		m.mu.Lock()
		if m.busy[name] == a {
			delete(m.busy, name)
		}
		m.mu.Unlock()
		if n := a.new.Load(); n > 0 && time.Since(a.begin) > logAfter {
			took := time.Since(a.begin)
			m.opts.Log.Info(fmt.Sprintf("downloaded %s of %s in %s (%s/s)", size(n), m.Location(name),
				took.Round(100*time.Millisecond), size(int64(float64(n)/took.Seconds()))))
		}
	}
}

// log logs the progress until the fetch ends.
func (a *activity) log() {
	tick := time.NewTicker(logEvery)
	defer tick.Stop()
	for {
		if a.new.Load() > 0 {
			a.m.opts.Log.Info(fmt.Sprintf("%s: %s", a.m.Location(a.name), a))
		}
		select {
		case <-tick.C:
		case <-a.stop:
			return
		}
	}
}

func (a *activity) arrived(n int64) {
	a.done.Add(n)
	a.new.Add(n)
}

// skip counts a file that the cache has.
func (a *activity) skip(n int64) { a.done.Add(n) }

// String returns the progress as the log and the index show it.
func (a *activity) String() string {
	total := a.total.Load()
	if total == 0 {
		return "downloading"
	}
	return fmt.Sprintf("downloading, %d %% of %s", 100*a.done.Load()/total, size(total))
}

// Activity returns what a fetch of a model is doing now; empty if there is none that downloads.
func (m *Mirror) Activity(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a := m.busy[name]; a != nil && a.new.Load() > 0 {
		return a.String()
	}
	return ""
}

// size formats a number of bytes.
func size(n int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	v, i := float64(n), 0
	for ; v >= 1000 && i < len(units)-1; i++ {
		v /= 1000
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}
