// How much memory a model will use when it is loaded is predicted from the sizes of its files, and from
// what was measured when it was loaded before.

package ondemand

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"triton/pkg/inferencepb"
)

// Predicted is a version to load.
type Predicted struct {
	// Key identifies the version among all that were measured; empty: it is not recorded.
	Key   string
	Files int64 // the sizes of its files
	// Config is completed as far as that is possible without the backend.
	Config *inferencepb.ModelConfig
}

// The memory of a version is a base and a multiple of its files. The values were measured with
// ONNX Runtime 1.23 and CPython 3.11 with numpy; the multiple is learned from then on.
const (
	sessionBase = 1 << 20  // of a session of ONNX Runtime
	processBase = 32 << 20 // of a Python process with numpy
	otherBase   = 64 << 10
)

// Estimator predicts memory. Its methods may be called at the same time.
type Estimator struct {
	file string

	mu        sync.Mutex
	record    map[string]measured // by Predicted.Key
	multiples map[string]float64  // by backend
}

// measured is the memory of a version as it was measured last.
type measured struct {
	Files int64 `json:"files"`
	Bytes Bytes `json:"bytes"`
}

// NewEstimator returns an estimator that keeps what it has learned in a file; without a name it keeps it
// in memory only.
func NewEstimator(file string) (*Estimator, error) {
	e := &Estimator{file: file, record: map[string]measured{}, multiples: map[string]float64{}}
	if file == "" {
		return e, nil
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return e, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &e.record)
	}
	if err != nil {
		e.record = map[string]measured{}
		return e, fmt.Errorf("read the measured memory of models: %w", err)
	}
	return e, nil
}

// Estimate predicts the memory of a version.
func (e *Estimator) Estimate(v Predicted) Bytes {
	e.mu.Lock()
	defer e.mu.Unlock()
	if was, ok := e.record[v.Key]; ok {
		return was.scaled(v.Files)
	}
	return predict(v, e.multiple(v.Config.GetBackend()))
}

// scaled returns the memory of the same model with other files. Small files, such as the code of a
// Python model, do not decide about it.
func (m measured) scaled(files int64) Bytes {
	all := maps.Clone(m.Bytes)
	for d, n := range all {
		if m.Files >= minFiles && files >= minFiles {
			all[d] = int64(float64(n) * float64(files) / float64(m.Files))
		} else {
			all[d] = max(n+files-m.Files, 0)
		}
	}
	return all
}

// multiple returns the memory of a backend's model per byte of its files. The caller holds e.mu.
func (e *Estimator) multiple(backend string) float64 {
	if m, ok := e.multiples[backend]; ok {
		return m
	}
	return 1
}

// predict returns the memory of a version that was never measured.
func predict(v Predicted, multiple float64) Bytes {
	all := Bytes{}
	files := int64(multiple * float64(v.Files))
	switch v.Config.GetBackend() {
	case "onnxruntime":
		for device, instances := range placements(v.Config) {
			if device == Host {
				instances = 1 // they share a session
			}
			all[device] = int64(instances) * (files + sessionBase)
		}
	case "python":
		for _, instances := range placements(v.Config) {
			all[Host] += int64(instances) * (files + processBase)
		}
	default:
		all[Host] = files + otherBase
	}
	return all
}

// placements returns the number of instances by device.
func placements(c *inferencepb.ModelConfig) map[Device]int {
	all := map[Device]int{}
	for _, g := range c.GetInstanceGroup() {
		n := max(int(g.GetCount()), 1)
		if g.GetKind() != inferencepb.ModelInstanceGroup_KIND_GPU {
			all[Host] += n
			continue
		}
		for _, gpu := range g.GetGpus() {
			all[GPU(int(gpu))] += n
		}
	}
	if len(all) == 0 {
		all[Host] = 1
	}
	return all
}

// weight of a new measurement in the multiple of a backend, and the smallest files that say
// something about it.
const (
	weight   = 0.2
	minFiles = 1 << 20
)

// Learn records the memory of a version that is loaded.
func (e *Estimator) Learn(v Predicted, bytes Bytes) error {
	if len(bytes) == 0 {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	backend := v.Config.GetBackend()
	if n := bytes[Host]; v.Files >= minFiles && n > 0 && backend == "onnxruntime" {
		was := e.multiple(backend)
		e.multiples[backend] = was + weight*(float64(max(n-sessionBase, 0))/float64(v.Files)-was)
	}
	if v.Key == "" {
		return nil
	}
	was := e.record[v.Key]
	e.record[v.Key] = measured{v.Files, maps.Clone(bytes)}
	if e.file == "" || was.Files == v.Files && similar(was.Bytes, bytes) {
		return nil
	}
	return e.save()
}

// similar reports whether the bytes differ by less than a tenth.
func similar(a, b Bytes) bool {
	for d, n := range b {
		if diff := a[d] - n; max(diff, -diff)*10 > n {
			return false
		}
	}
	return len(a) == len(b)
}

// save writes the file, so that a reader sees the old or the new content. The caller holds e.mu.
func (e *Estimator) save() error {
	text, err := json.MarshalIndent(e.record, "", "\t")
	if err != nil {
		return err
	}
	next := e.file + ".new"
	if err := os.WriteFile(next, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the measured memory of models: %w", err)
	}
	return os.Rename(next, e.file)
}

// maxFolderNesting bounds how deep a folder is read: links may form circles.
const maxFolderNesting = 16

// FolderBytes returns the sizes of all files below a folder. It follows links.
func FolderBytes(dir string) int64 { return folderBytes(dir, maxFolderNesting) }

func folderBytes(path string, depth int) (sum int64) {
	entries, err := os.ReadDir(path)
	if err != nil || depth == 0 {
		return 0
	}
	for _, e := range entries {
		at := filepath.Join(path, e.Name())
		info, err := os.Stat(at)
		switch {
		case err != nil:
		case info.IsDir():
			sum += folderBytes(at, depth-1)
		case info.Mode().IsRegular():
			sum += info.Size()
		}
	}
	return sum
}
