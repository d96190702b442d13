package repository

import (
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"triton/pkg/inferencepb"
	"triton/server/model"
	"triton/server/repository/layout"
	"triton/server/repository/ondemand"
	"triton/server/store"
)

// memory is the estimated and the measured memory of the loaded versions.
type memory struct {
	opts      *Options
	estimator *ondemand.Estimator

	mu       sync.Mutex
	versions map[*model.LoadedVersion]*versionMemory
	gpus     map[int]*gpuLoads
}

// versionMemory is the memory of one version.
type versionMemory struct {
	source    ondemand.Predicted
	estimated ondemand.Bytes // before the load
	gpu       ondemand.Bytes // by which the load raised the memory of this process
	measured  ondemand.Bytes // the last measurement; nil: the backend does not report it
	at        time.Time      // of the last measurement
}

// gpuLoads are the loads on a GPU under way. What they take can be told apart only if they do not
// overlap.
type gpuLoads struct {
	active  int
	overlap bool
}

// measureInterval is the time for which a measurement is used again: some backends read files.
const measureInterval = 500 * time.Millisecond

func newMemory(o *Options) *memory {
	e, err := ondemand.NewEstimator(o.MemoryRecord)
	if err != nil {
		o.Log.Warn("the estimates of memory begin anew", "error", err)
	}
	return &memory{opts: o, estimator: e, versions: map[*model.LoadedVersion]*versionMemory{}, gpus: map[int]*gpuLoads{}}
}

// described describes a version to the estimator. folder has the version's files.
func described(c *layout.Content, folder *store.Folder, version string) ondemand.Predicted {
	key := "" // files that came with a load have no name of their own
	if !c.Uploaded() {
		key = c.Origin(layout.Version{Name: version})
	}
	return ondemand.Predicted{Key: key, Files: ondemand.FolderBytes(versionDir(folder, version)), Config: c.Config.ModelConfig}
}

// measure estimates the memory of a version, loads it, and measures what the load took.
func (m *memory) measure(c *layout.Content, folder *store.Folder, version string, load func() (*model.LoadedVersion, error)) (*model.LoadedVersion, error) {
	at := &versionMemory{source: described(c, folder, version)}
	at.estimated = m.estimator.Estimate(at.source)
	devices := gpusOf(c.Config.ModelConfig)
	before := m.beginGPU(devices)
	v, err := load()
	at.gpu = m.endGPU(devices, before, err == nil)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.versions[v] = at
	m.mu.Unlock()
	m.learn(v)
	return v, nil
}

// replaced gives a version the memory of the one whose model it has. v is nil after an error.
func (m *memory) replaced(v, old *model.LoadedVersion) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at := m.versions[old]; v != nil && at != nil {
		m.versions[v] = &versionMemory{source: at.source, estimated: at.estimated, gpu: at.gpu}
	}
}

// learn records the memory of a version for the next estimate.
func (m *memory) learn(v *model.LoadedVersion) {
	_, measured := m.of(v)
	m.mu.Lock()
	at := m.versions[v]
	m.mu.Unlock()
	if at == nil {
		return
	}
	if err := m.estimator.Learn(at.source, measured); err != nil {
		m.opts.Log.Warn("the measured memory of a model is not kept for the next start", "model", v.Label(), "error", err)
	}
}

// forget removes a version that was closed.
func (m *memory) forget(v *model.LoadedVersion) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.versions, v)
}

// of returns the memory of a version; read-only. measured is nil if it is not known.
func (m *memory) of(v *model.LoadedVersion) (estimated, measured ondemand.Bytes) {
	m.mu.Lock()
	at := m.versions[v]
	if at == nil {
		m.mu.Unlock()
		return nil, nil
	}
	if now := time.Now(); now.Sub(at.at) < measureInterval {
		defer m.mu.Unlock()
		return at.estimated, at.measured
	}
	m.mu.Unlock()
	all := maps.Clone(at.gpu)
	for _, r := range v.Memory() {
		d := ondemand.Host
		if r.Kind == "GPU" {
			d = ondemand.GPU(int(r.ID))
			delete(all, d) // the backend knows better
		}
		if all == nil {
			all = ondemand.Bytes{}
		}
		all[d] += int64(r.Bytes)
	}
	m.addProcesses(&all, v, gpusOf(at.source.Config))
	m.mu.Lock()
	defer m.mu.Unlock()
	at.measured, at.at = all, time.Now()
	return at.estimated, all
}

// addProcesses adds the memory of the processes that instances have of their own.
func (m *memory) addProcesses(to *ondemand.Bytes, v *model.LoadedVersion, devices []int) {
	for _, pid := range v.Processes() {
		if *to == nil {
			*to = ondemand.Bytes{}
		}
		if n, known := privateMemory(pid); known {
			(*to)[ondemand.Host] += n
		}
		for _, d := range devices {
			if m.opts.GPUMemory == nil {
				break
			}
			if n, known := m.opts.GPUMemory(d, pid); known && n > 0 {
				(*to)[ondemand.GPU(d)] += n
			}
		}
	}
}

// privateMemory returns the memory that the end of a process gives back: pages that it shares with no
// other, such as with the server.
func privateMemory(pid int) (sum int64, known bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) == 3 && (f[0] == "Private_Clean:" || f[0] == "Private_Dirty:") {
			n, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				return 0, false
			}
			sum, known = sum+n<<10, true
		}
	}
	return sum, known
}

// beginGPU reads the memory of this process on the GPUs before a load.
func (m *memory) beginGPU(devices []int) map[int]int64 {
	before := map[int]int64{}
	for _, d := range devices {
		m.mu.Lock()
		g := m.gpus[d]
		if g == nil {
			g = &gpuLoads{}
			m.gpus[d] = g
		}
		g.active++
		g.overlap = g.active > 1 || g.overlap
		m.mu.Unlock()
		if n, known := m.gpuMemory(d); known {
			before[d] = n
		}
	}
	return before
}

// endGPU returns by how much a load has raised the memory of this process. A GPU on which other
// loads ran meanwhile is left out.
func (m *memory) endGPU(devices []int, before map[int]int64, loaded bool) ondemand.Bytes {
	var all ondemand.Bytes
	for _, d := range devices {
		after, known := m.gpuMemory(d)
		m.mu.Lock()
		g := m.gpus[d]
		alone := !g.overlap
		if g.active--; g.active == 0 {
			g.overlap = false
		}
		m.mu.Unlock()
		if was, ok := before[d]; ok && known && loaded && alone && after > was {
			if all == nil {
				all = ondemand.Bytes{}
			}
			all[ondemand.GPU(d)] = after - was
		}
	}
	return all
}

func (m *memory) gpuMemory(device int) (int64, bool) {
	if m.opts.GPUMemory == nil {
		return 0, false
	}
	return m.opts.GPUMemory(device, os.Getpid())
}

// gpusOf returns the GPUs that a configuration names.
func gpusOf(c *inferencepb.ModelConfig) []int {
	var all []int
	seen := map[int32]bool{}
	for _, g := range c.GetInstanceGroup() {
		for _, gpu := range g.GetGpus() {
			if g.GetKind() == inferencepb.ModelInstanceGroup_KIND_GPU && !seen[gpu] {
				seen[gpu] = true
				all = append(all, int(gpu))
			}
		}
	}
	return all
}

// VersionMemory is the memory of one version on one device.
type VersionMemory struct {
	ID        store.ID
	Version   string
	Device    ondemand.Device
	Estimated int64 // negative: not known
	Measured  int64 // negative: not known
}

// Memory returns the memory of the loaded versions, by model, version and device.
func (r *Repository) Memory() []VersionMemory {
	var all []VersionMemory
	for _, m := range r.actual.Snapshot().Models() {
		for _, v := range m.ReadyVersions() {
			estimated, measured := r.memory.of(v)
			for _, d := range devicesOf(estimated, measured) {
				all = append(all, VersionMemory{m.ID, v.Version(), d, amount(estimated, d), amount(measured, d)})
			}
		}
	}
	return all
}

func amount(b ondemand.Bytes, d ondemand.Device) int64 {
	if n, ok := b[d]; ok {
		return n
	}
	return -1
}
