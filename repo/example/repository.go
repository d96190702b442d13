package example

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// repository is the folder that models are written into. Models are made in a staging
// folder inside it and renamed, so that no reader sees half a model.
type repository struct {
	dir     string
	force   bool
	staging string
	fetch   fetcher
}

// ExistsError lists the models that existed before. Nothing was written.
type ExistsError struct {
	Dir    string
	Models []string
}

func (e *ExistsError) Error() string {
	const shown = 3
	names := strings.Join(e.Models[:min(shown, len(e.Models))], ", ")
	if more := len(e.Models) - shown; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s already has %s; nothing was written", e.Dir, names)
}

// open checks that no model would be overwritten and makes the folders.
func (r *repository) open(models []model) error {
	var taken []string
	for _, m := range models {
		_, err := os.Lstat(filepath.Join(r.dir, m.name))
		if err == nil {
			taken = append(taken, m.name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if len(taken) > 0 && !r.force {
		return &ExistsError{r.dir, taken}
	}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return err
	}
	var err error
	r.staging, err = os.MkdirTemp(r.dir, ".example-")
	return err
}

// close removes the staging folder and what a failure left in it.
func (r *repository) close() error {
	if r.staging == "" {
		return nil
	}
	return os.RemoveAll(r.staging)
}

// write makes one model, moves it to its final folder and returns its size in bytes.
func (r *repository) write(ctx context.Context, m model, seed uint64) (int64, error) {
	from := filepath.Join(r.staging, m.name)
	all, err := r.contents(ctx, m)
	if err != nil {
		return 0, err
	}
	total := int64(0)
	for name, content := range all {
		path := filepath.Join(from, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return 0, err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return 0, err
		}
		total += int64(len(content))
	}
	for _, v := range m.versions {
		folder := filepath.Join(from, v.number)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return 0, err
		}
		if v.build == nil {
			continue
		}
		n, err := writeGraph(ctx, filepath.Join(folder, "model.onnx"), newGraph(m.name, v, seed))
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, r.publish(from, m.name)
}

// contents returns all files of a model but its seeded graphs.
func (r *repository) contents(ctx context.Context, m model) (files, error) {
	all := files{}
	if m.files != nil {
		var err error
		if all, err = m.files(); err != nil {
			return nil, err
		}
	}
	if m.config != nil {
		text, err := m.config()
		if err != nil {
			return nil, err
		}
		all["config.pbtxt"] = []byte(text)
	}
	if m.trained == nil {
		return all, nil
	}
	of, err := r.trained(ctx, m.trained)
	maps.Copy(all, of)
	return all, err
}

// publish renames a finished model to its final folder and replaces an existing one.
func (r *repository) publish(from, name string) error {
	to := filepath.Join(r.dir, name)
	if r.force {
		err := os.Rename(to, filepath.Join(r.staging, name+".old"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Rename(from, to)
}

func writeGraph(ctx context.Context, path string, g *graph) (n int64, err error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := g.file.Write(interruptible{ctx, f}); err != nil {
		return 0, err
	}
	return f.Seek(0, io.SeekCurrent)
}

// interruptible ends a long write when its context ends.
type interruptible struct {
	ctx context.Context
	w   io.Writer
}

func (i interruptible) Write(b []byte) (int, error) {
	if err := context.Cause(i.ctx); err != nil {
		return 0, err
	}
	return i.w.Write(b)
}
