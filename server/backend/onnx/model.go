//go:build cgo && (linux || darwin)

package onnx

import (
	"context"
	"slices"
	"strconv"
	"sync/atomic"

	"triton/pkg/inferencepb"
	"triton/pkg/onnxmodel"
	"triton/server/backend"
)

// model is one loaded version. Its instances on the CPU share one session, so that
// weights are in memory once. Each GPU instance has its own session, because the runs
// of one session share a stream there.
type model struct {
	spec     backend.Spec
	path     string
	sig      *backend.Signature
	library  *library
	read     func(path string) ([]byte, error)
	cpu      sessions
	derive   atomic.Bool  // whether outputs whose shape can be derived are written into our buffers
	profiles atomic.Int32 // sessions that write a profile
	fills    bool         // every byte of an output is written, as there are no custom operators
}

var (
	_ backend.Model          = (*model)(nil)
	_ backend.MemoryReporter = (*model)(nil)
)

// Load opens the library if this is its first use and finds the model's file.
// The session is opened with the first instance, which says where it runs.
func (b *Backend) Load(_ context.Context, spec backend.Spec) (backend.Model, error) {
	path, err := modelPath(spec)
	if err != nil {
		return nil, err
	}
	lib, err := b.library(spec)
	if err != nil {
		return nil, err
	}
	warnIgnored(spec)
	m := &model{
		spec: spec, path: path, sig: backend.NewFullSignature(spec.Config), library: lib, read: b.readModel,
		fills: len(spec.Config.GetModelOperations().GetOpLibraryFilename()) == 0,
	}
	m.derive.Store(true)
	return m, nil
}

// inspect opens a model only to read its signature. It optimizes the graph as the
// session of the instances does: folding constants fixes shapes that are open before.
func (b *Backend) inspect(spec backend.Spec, path string) (*onnxmodel.Model, error) {
	lib, err := b.library(spec)
	if err != nil {
		return nil, err
	}
	o, err := parseOptions(spec, false)
	if err != nil {
		return nil, err
	}
	data, err := b.readModel(path)
	if err != nil {
		return nil, err
	}
	s, err := openSession(&opening{lib: lib, path: path, data: data, options: o, threads: threads{intra: 1, inter: o.inter}})
	if err != nil {
		return nil, err
	}
	defer s.close()
	return s.graph, nil
}

// NewInstance opens or shares the session and checks it against the configuration.
func (m *model) NewInstance(_ context.Context, at backend.Placement) (backend.Instance, error) {
	s, leave, err := m.session(at)
	if err != nil {
		return nil, err
	}
	i, err := m.instance(s, at)
	if err != nil {
		leave()
		return nil, err
	}
	i.leave = leave
	return i, nil
}

// session returns the session for an instance and the function that releases it.
func (m *model) session(at backend.Placement) (*session, func(), error) {
	if at.Kind != inferencepb.ModelInstanceGroup_KIND_GPU {
		return m.joinCPU(at)
	}
	s, err := m.openGPU(at.Device)
	if err != nil {
		return nil, nil, err
	}
	return s, s.close, nil
}

// joinCPU returns a session that instances share. Instances with another host policy have a session
// of their own, because the threads of a session are bound as the thread that opens it.
func (m *model) joinCPU(at backend.Placement) (*session, func(), error) {
	o, err := parseOptions(m.spec, false)
	if err != nil {
		return nil, nil, err
	}
	var t threads // a process-wide pool needs one plan only
	if !m.library.globalPool {
		t = planThreads(processors(m.spec.CPUs, at), at.Instances, o)
		if at.HostPolicy.Binds() {
			t.policy = at.HostPolicy.Name
		}
	}
	s, leave, fresh, err := m.cpu.join(t, func() (*session, error) { return m.open(o, t) })
	if fresh {
		m.logThreads(t, at)
	}
	return s, leave, err
}

// processors returns how many processors the instances of a session may use.
func processors(all int, at backend.Placement) int {
	if n := at.HostPolicy.Processors(); n > 0 {
		return min(all, n)
	}
	return all
}

func (m *model) openGPU(device int) (*session, error) {
	if !slices.Contains(m.library.providers, cudaProvider) {
		return nil, providerHint(m.spec.Name, cudaProvider, m.library.path, m.library.providers)
	}
	o, err := parseOptions(m.spec, true)
	if err != nil {
		return nil, err
	}
	o.onDevice(strconv.Itoa(device))
	if o.graphs {
		m.spec.Log.Warn("CUDA graphs are not used: their replay needs inputs at fixed addresses of the GPU", "model", m.spec.Name, "version", m.spec.Version)
	}
	path, err := m.gpuPath(device)
	if err != nil {
		return nil, err
	}
	return m.openFile(path, o, threads{intra: max(o.intra, 1), inter: o.inter})
}

// gpuPath returns the model file for a GPU: cc_model_filenames may name one for its
// compute capability.
func (m *model) gpuPath(device int) (string, error) {
	names := m.spec.Config.GetCcModelFilenames()
	if len(names) == 0 || m.spec.Capability == nil {
		return m.path, nil
	}
	file, ok := names[m.spec.Capability(device)]
	if !ok {
		return m.path, nil
	}
	spec := m.spec
	spec.File = file
	return modelPath(spec)
}

func (m *model) open(o *options, t threads) (*session, error) { return m.openFile(m.path, o, t) }

func (m *model) openFile(path string, o *options, t threads) (*session, error) {
	data, err := m.read(path)
	if err != nil {
		return nil, err
	}
	open := &opening{lib: m.library, path: path, data: data, options: o, threads: t}
	if err := m.profile(open); err != nil {
		return nil, err
	}
	s, err := m.optimized(open)
	if err != nil {
		return nil, err
	}
	if open.profile != "" {
		s.profile = m.profileWritten
	}
	if err := checkGraph(m.spec, s.graph); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (m *model) logThreads(t threads, at backend.Placement) {
	if m.library.globalPool {
		m.spec.Log.Info("threads: the process-wide pool", "model", m.spec.Name, "version", m.spec.Version)
		return
	}
	m.spec.Log.Info("threads", "model", m.spec.Name, "version", m.spec.Version, "instances", at.Instances,
		"cpus", processors(m.spec.CPUs, at), "pool", t.intra, "inter_op", t.inter, "spinning", t.spin, "by", t.why)
}

// Memory returns the memory of the shared sessions. The memory of a GPU is reported by
// its driver.
func (m *model) Memory() []backend.Memory {
	n := m.cpu.memory()
	if n == 0 {
		return nil
	}
	return []backend.Memory{{Kind: "CPU", Bytes: n}}
}

// Close closes the shared sessions. Outputs still lent to responses keep their memory.
func (m *model) Close() error {
	m.cpu.close()
	return nil
}
