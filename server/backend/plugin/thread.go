//go:build cgo && linux

package plugin

// #include "host.h"
import "C"

import (
	"os"
	"slices"
	"sync"

	"triton/pkg/inferencepb"
	"triton/server/backend"
	"triton/server/hostpolicy"
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
	device map[place]*hostpolicy.Thread
}

type place struct {
	kind   inferencepb.ModelInstanceGroup_Kind
	device int
	policy string
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

// assign returns the thread of an instance; nil: the caller's. An instance with a host policy is
// always called on one bound thread.
func (t *threads) assign(at backend.Placement) (th *hostpolicy.Thread, owned bool, err error) {
	switch {
	case t.shared:
		th, err = t.share(at)
		return th, false, err
	case t.own && !at.HostPolicy.Binds():
		th, err = hostpolicy.Policy{}.Start()
		return th, err == nil, err
	}
	return nil, false, nil
}

// share returns the thread of the instances of a device with a host policy.
func (t *threads) share(at backend.Placement) (*hostpolicy.Thread, error) {
	key := place{at.Kind, at.Device, at.HostPolicy.Name}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.device[key] != nil {
		return t.device[key], nil
	}
	th, err := at.HostPolicy.Start()
	if err != nil {
		return nil, err
	}
	if t.device == nil {
		t.device = map[place]*hostpolicy.Thread{}
	}
	t.device[key] = th
	return th, nil
}

func (t *threads) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, th := range t.device {
		th.Close()
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
