package example

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	text, err := m.config()
	if err != nil {
		return 0, err
	}
	if err := os.Mkdir(from, 0o755); err != nil {
		return 0, err
	}
	if err := os.WriteFile(filepath.Join(from, "config.pbtxt"), []byte(text), 0o644); err != nil {
		return 0, err
	}
	total := int64(len(text))
	if m.trained != nil {
		n, err := r.writeTrained(ctx, from, m.trained)
		if err != nil {
			return 0, err
		}
		total += n
	}
	for _, v := range m.versions {
		folder := filepath.Join(from, v.number)
		if err := os.Mkdir(folder, 0o755); err != nil {
			return 0, err
		}
		for name, content := range v.files {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
				return 0, err
			}
			total += int64(len(content))
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
