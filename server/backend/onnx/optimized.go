//go:build cgo && (linux || darwin)

package onnx

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"triton/pkg/status"
)

// optimizedFile is the file of a kept model. Its weights are in another one beside it.
const optimizedFile = "model.onnx"

// unfinished begins the name of a folder that is being written.
const unfinished = ".new-"

// optimized opens the session from the optimized model that an earlier load has kept. If there is
// none it makes one first: the session that writes it keeps the weights twice, so it is closed. A
// model that cannot be kept is opened without.
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
	log := m.spec.Log.With("model", m.spec.Name, "version", m.spec.Version, "file", kept)
	if _, err := os.Stat(kept); err == nil {
		s, err := openSession(open.from(kept))
		if err == nil {
			log.Info("the optimized model of an earlier load is used")
			return s, nil
		}
		log.Warn("the optimized model cannot be opened and is made again", "error", err)
		_ = os.RemoveAll(filepath.Dir(kept))
	}
	if err := open.keep(dir, key); err != nil {
		log.Warn("the optimized model is not kept", "error", err)
		return openSession(open)
	}
	s, err := openSession(open.from(kept))
	if err != nil { // such as when another load, of a model of the same name, has replaced it
		log.Warn("the optimized model cannot be opened and is not used", "error", err)
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

// keep writes the optimized model. Its folder appears complete or not at all.
func (o *opening) keep(dir, key string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // as readable as a model repository
		return err
	}
	temporary, err := os.MkdirTemp(dir, unfinished)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	writing := *o
	writing.write, writing.profile = filepath.Join(temporary, optimizedFile), ""
	s, err := openSession(&writing)
	if err != nil {
		return err
	}
	s.close()
	if err := os.Rename(temporary, filepath.Join(dir, key)); err != nil {
		if _, exists := os.Stat(filepath.Join(dir, key, optimizedFile)); exists != nil {
			return err
		} // else another load was first
	}
	removeOthers(dir, key)
	return nil
}

// unfinishedAge is the age from which an unfinished folder is not being written any more.
const unfinishedAge = time.Hour

// removeOthers removes what was kept of former files or settings of the model version, and what a
// process that ended has not finished.
func removeOthers(dir, key string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() == key {
			continue
		}
		info, err := e.Info()
		if strings.HasPrefix(e.Name(), unfinished) && (err != nil || time.Since(info.ModTime()) < unfinishedAge) {
			continue
		}
		_ = os.RemoveAll(filepath.Join(dir, e.Name()))
	}
}
