package store

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"triton/pkg/status"
)

// Scratch holds the model directories that came with loads, in a private directory that the
// first Write makes. The zero value is ready to use.
type Scratch struct {
	mu   sync.Mutex
	base string
}

const filePrefix = "file:"

// Write writes files to a new directory. Their names have the prefix of file parameters. The
// caller holds the directory; the last release removes it.
func (s *Scratch) Write(files map[string][]byte) (*Folder, error) {
	dir, err := s.newDir()
	if err != nil {
		return nil, status.New(status.Internal, "making a directory for model files: %w", err)
	}
	d := NewFolder(dir, func() { _ = os.RemoveAll(dir) }) // if this fails, Remove tries again
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names) // directories after files of the same name
	for _, name := range names {
		if err := writeFile(dir, name, files[name]); err != nil {
			d.Release()
			return nil, err
		}
	}
	return d, nil
}

func (s *Scratch) newDir() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.base == "" {
		base, err := os.MkdirTemp("", "triton-models-")
		if err != nil {
			return "", err
		}
		s.base = base
	}
	return os.MkdirTemp(s.base, "model-")
}

// Dir returns the directory that contains all others; empty when there is none.
func (s *Scratch) Dir() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.base
}

// Remove removes all directories.
func (s *Scratch) Remove() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.base == "" {
		return nil
	}
	err := os.RemoveAll(s.base)
	s.base = ""
	return err
}

func writeFile(dir, name string, content []byte) error {
	rel := strings.TrimLeft(filepath.FromSlash(strings.TrimPrefix(name, filePrefix)), string(filepath.Separator))
	path := filepath.Join(dir, rel)
	if path != dir && !filepath.IsLocal(rel) {
		return status.New(status.InvalidArg,
			"Invalid file parameter '%s' with normalized path '%s' must stay within model directory.", name, path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return status.New(status.InvalidArg, "Invalid file parameter '%s', directory has been created as a file", name)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return status.New(status.Internal, "failed to open binary file for write %s: %s", path, status.Strerror(err))
	}
	return nil
}
