//go:build cgo && linux

package plugin

// #include "host.h"
import "C"

import (
	"os"
	"runtime"
	"slices"
	"sync"

	"triton/pkg/inferencepb"
)

// anyThread are the backends whose executions need no thread of their own: they keep nothing
// by thread.
var anyThread = []string{"identity", "repeat", "square", "sequence", "dyna_sequence", "implicit_state", "distributed_addsub", "query", "onnxruntime", "python"}

// threadSetting says on which thread the executions of an instance run: "instance", always
// the same, or "any".
const threadSetting = "execution-thread"

// threads runs executions of a model.
type threads struct {
	own    bool // instances have threads
	shared bool // instances of a device have one thread
	mu     sync.Mutex
	device map[place]*thread
}

type place struct {
	kind   inferencepb.ModelInstanceGroup_Kind
	device int
}

// init decides where executions run. Sequence models never share a thread, as in Triton.
func (t *threads) init(m *model) {
	name := C.GoString(m.lib.c.name)
	switch m.lib.settings[threadSetting] {
	case "instance":
		t.own = true
	case "any":
	default:
		t.own = !slices.Contains(anyThread, name)
	}
	if m.lib.c.policy != C.TRITONBACKEND_EXECUTION_DEVICE_BLOCKING {
		return
	}
	if m.spec.Config.GetSequenceBatching() != nil {
		m.spec.Log.Info("Overriding execution policy to \"TRITONBACKEND_EXECUTION_BLOCKING\" for sequence model \"" + m.spec.Name + "\"")
		return
	}
	t.shared = true
}

// assign returns the thread of an instance; nil: any thread.
func (t *threads) assign(at place) (th *thread, owned bool) {
	switch {
	case t.shared:
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.device == nil {
			t.device = map[place]*thread{}
		}
		if t.device[at] == nil {
			t.device[at] = newThread()
		}
		return t.device[at], false
	case t.own:
		return newThread(), true
	}
	return nil, false
}

func (t *threads) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, th := range t.device {
		th.close()
	}
	t.device = nil
}

// parallel reports whether instances may be initialized at the same time.
func (m *model) parallel() bool {
	// The libraries read the same environment.
	if v, ok := os.LookupEnv("TRITON_PARALLEL_INSTANCE_LOADING"); ok { //nolint:forbidigo // it is of the API and not of the command line
		return v == "1"
	}
	return m.lib.parallel
}

// thread is one thread of the system that calls functions one after the other.
type thread struct {
	mu   sync.Mutex // held by a call
	work chan func()
	done chan struct{}
}

func newThread() *thread {
	t := &thread{work: make(chan func()), done: make(chan struct{})}
	go func() {
		runtime.LockOSThread() // and never unlock: the thread ends with the goroutine
		for f := range t.work {
			f()
			t.done <- struct{}{}
		}
	}()
	return t
}

// do calls f on the thread and waits for it.
func (t *thread) do(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.work <- f
	<-t.done
}

func (t *thread) close() { close(t.work) }
