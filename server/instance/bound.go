package instance

import (
	"context"
	"runtime/pprof"

	"triton/server/hostpolicy"
	"triton/server/infer"
)

// bind starts the thread of an instance whose host policy binds threads.
func (g *Group) bind(ctx context.Context, w *worker) (err error) {
	if !w.at.HostPolicy.Binds() {
		return nil
	}
	var t *hostpolicy.Thread
	pprof.Do(ctx, g.labels(w), func(context.Context) { t, err = w.at.HostPolicy.Start() })
	if err != nil {
		return err
	}
	w.thread = t
	g.opts.Log.Debug("host policy '"+w.at.HostPolicy.Name+"' binds an instance", "instance", w.at.Name, "settings", w.at.HostPolicy.Settings)
	return nil
}

// unbind ends the thread, after the last call.
func (w *worker) unbind() {
	if w.thread != nil {
		w.thread.Close()
		w.thread = nil
	}
}

// call calls f, which must not panic, on the thread of the instance.
func (w *worker) call(f func()) {
	if w.thread == nil {
		f()
		return
	}
	w.thread.Do(f)
}

// executeBound is executeHere on the thread of the instance. It is a function of its own because
// the result moves to the heap.
func (g *Group) executeBound(ctx context.Context, w *worker, b *infer.Batch) (err error) {
	w.thread.Do(func() { err = g.executeHere(ctx, w, b) })
	return err
}
