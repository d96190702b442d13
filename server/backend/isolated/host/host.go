// Package host is the child of an isolated model: it runs one model version of any backend in
// a process of its own, for the server that has started it (package isolated). Main is the child;
// the rest is what both sides write and read: the types of frames, and the bodies that hold models,
// requests, responses and tensors. Both run the same program, so frames have no versions.
// docs/adr/0028-isolation.md has the table of frames.
package host

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"

	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/backend/child"
	"triton/server/backend/plugin"
	"triton/server/infer"
)

// host is the whole child. One goroutine, that of serve, handles the frames; it must not wait
// for the server. Each instance has a goroutine for its batches.
type host struct {
	peer     *child.Peer
	backends backend.Set
	memory   *memory
	log      *slog.Logger
	name     string // of the model
	version  string
	ended    chan struct{} // closed after Finalize
	metrics  sync.Once     // shows those of a library to the server

	mu struct {
		sync.Mutex
		model     backend.Model
		instances map[uint32]*instance
		open      map[uint64]*request // that the backend has not finished
	}
}

// Main runs a model of one of the backends for the server that has started this program, until
// the server ends the child or itself. argument is the last one of the command line, environ the
// environment of the program.
func Main(argument string, environ []string, backends backend.Set) error {
	var start Start
	if err := json.Unmarshal([]byte(argument), &start); err != nil {
		return child.ErrNoParent
	}
	if err := impose(start, environ); err != nil {
		return err
	}
	peer, err := child.Attach()
	if err != nil {
		return err
	}
	h := &host{peer: peer, backends: backends, ended: make(chan struct{})}
	h.log = slog.New(&logHandler{send: h.post})
	h.mu.instances, h.mu.open = map[uint32]*instance{}, map[uint64]*request{}
	h.memory = newMemory(peer.File(0), h.post)
	served := make(chan error, 1)
	go func() { served <- peer.Serve(h.handle) }()
	select {
	case err = <-served:
	case <-h.ended:
		plugin.Finalize(h.log)
		peer.Flush()
	}
	return err
}

// post sends a frame. If the server does not read, the child cannot go on.
func (h *host) post(m *child.Message) {
	if err := h.peer.PostWait(m); err != nil {
		panic(fmt.Sprintf("sending a frame to the server: %v", err))
	}
}

var errFrame = fmt.Errorf("%w from the server", child.ErrFrame)

// handle handles one frame.
func (h *host) handle(f child.Frame) error {
	r := child.NewReader(f.Body)
	switch f.Kind {
	case Execute:
		in := h.instance(r.Uint32())
		if in == nil {
			return errFrame
		}
		in.batch(r)
	case Cancel:
		h.cancel(r)
	case Interrupt:
		if in := h.instance(r.Uint32()); in != nil {
			in.interrupt()
		}
	case Return:
		h.memory.returned(r)
	case Block:
		h.memory.granted(r)
	default:
		return h.question(f.Kind, r)
	}
	if r.Err() != nil {
		return errFrame
	}
	return nil
}

// question answers a frame that has an answer on a goroutine of its own.
func (h *host) question(kind uint8, r *child.Reader) error {
	number := r.Uint32()
	body := append([]byte(nil), r.Next(uint64(r.Len()))...)
	answers := map[uint8]func([]byte) ([]byte, error){
		Describe: h.describe, Complete: h.complete, Load: h.load, NewInstance: h.newInstance,
		CloseInstance: h.closeInstance, CheckReady: h.checkReady, Finalize: h.finalize,
	}
	do := answers[kind]
	if do == nil || r.Err() != nil {
		return errFrame
	}
	go func() {
		text, err := contained(h.log, func() ([]byte, error) { return do(body) })
		var m child.Message
		m.Begin(Answer).Uint32(number)
		PutError(&m, err)
		m.Raw(text)
		h.post(&m)
		if kind == Finalize {
			close(h.ended)
		}
	}()
	return nil
}

func (h *host) instance(number uint32) *instance {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.instances[number]
}

// cancel marks requests whose callers have left.
func (h *host) cancel(r *child.Reader) {
	for range r.Uint32() {
		id := r.Uint64()
		h.mu.Lock()
		var of *infer.Request
		if open := h.mu.open[id]; open != nil {
			of = open.Request
			of.Retain()
		}
		h.mu.Unlock()
		if of != nil {
			of.Cancel()
			of.Release()
		}
	}
}

// errNoInstance is the answer to a question about an instance that does not exist.
var errNoInstance error = status.New(status.Internal, "the child has no such instance")

// contained calls a function of a backend; a panic becomes an error.
func contained[T any](log *slog.Logger, call func() (T, error)) (result T, err error) {
	defer func() {
		if p := recover(); p != nil {
			logPanic(log, "an isolated backend", p)
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return call()
}
