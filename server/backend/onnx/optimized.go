//go:build cgo && (linux || darwin)

package onnx

import (
	"os"
	"path/filepath"
	"strconv"

	"triton/pkg/status"
)

// optimizedFile is the file of a kept model. Its weights are in another one beside it.
const optimizedFile = "model.onnx"

// optimized opens the session from the optimized model that an earlier load has kept, or opens it
// from the model and keeps what ONNX Runtime made of it. The folder of a kept model appears complete
// or not at all. A model that cannot be kept is opened without.
func (m *model) optimized(open *opening) (*session, error) {
	dir := m.spec.Settings[settingOptimized]
	if dir == "" || !open.keepable() {
		return openSession(open)
	}
	key, err := open.fingerprint()
	if err != nil {
		return nil, status.New(status.Unavailable, "model '%s': %w", m.spec.Name, err)
	}
	dir = filepath.Join(dir, fileName(m.spec.Name), strconv.FormatInt(m.spec.Version, 10))
	kept := filepath.Join(dir, key, optimizedFile)
	if _, err := os.Stat(kept); err == nil {
		s, err := openSession(open.from(kept))
		if err == nil {
			m.spec.Log.Info("the optimized model of an earlier load is used", "model", m.spec.Name, "version", m.spec.Version, "file", kept)
			return s, nil
		}
		m.spec.Log.Warn("the optimized model cannot be opened and is made again", "model", m.spec.Name, "file", kept, "error", err)
		_ = os.RemoveAll(filepath.Dir(kept))
	}
	s, err := openAndKeep(open, dir, key)
	if err != nil {
		m.spec.Log.Warn("the optimized model is not kept", "model", m.spec.Name, "version", m.spec.Version, "folder", dir, "error", err)
		return openSession(open)
	}
	return s, nil
}

// keepable reports whether the optimized model may be kept: not one that execution providers have
// compiled, which ONNX Runtime cannot write, nor one that was read in another way than from its
// file, which may be secret.
func (o *opening) keepable() bool {
	return o.options.optimized && len(o.options.providers) == 0 && o.data == nil && o.options.level != levelDisable
}

// from returns the opening of the kept model, which is optimized already.
func (o *opening) from(kept string) *opening {
	options := *o.options
	options.level = levelDisable
	copied := *o
	copied.path, copied.options = kept, &options
	return &copied
}

func openAndKeep(o *opening, dir, key string) (*session, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // as readable as a model repository
		return nil, err
	}
	temporary, err := os.MkdirTemp(dir, ".new-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	writing := *o
	writing.write = filepath.Join(temporary, optimizedFile)
	s, err := openSession(&writing)
	if err != nil {
		return nil, err
	}
	if err := os.Rename(temporary, filepath.Join(dir, key)); err == nil {
		removeOthers(dir, key)
	} // else another instance was first
	return s, nil
}

// removeOthers removes what was kept of former files or settings of the model version.
func removeOthers(dir, key string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if name := e.Name(); name != key && name[0] != '.' {
			_ = os.RemoveAll(filepath.Join(dir, name))
		}
	}
}
