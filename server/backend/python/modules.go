package python

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

//go:embed runtime/*.py
var runtimeModules embed.FS

// shipped are the backends in Python that are part of this program.
//
//go:embed shipped/*.py shipped/*/model.py
var shipped embed.FS

// modules are the files that children import, and the shipped backends, in a private
// directory that exists as long as there are models. So processes which a model starts can
// import them too.
type modules struct {
	mu struct {
		sync.Mutex
		users int
		dir   string
		lock  *os.File // held while this server uses the directory
	}
}

// modulesPrefix begins the names of the directories.
const modulesPrefix = "triton_python_modules_"

// acquire returns the directory. Each call is followed by one of release.
func (m *modules) acquire() (dir string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.users == 0 {
		removeModules(os.TempDir())
		if m.mu.dir, m.mu.lock, err = makeModules(); err != nil {
			return "", err
		}
	}
	m.mu.users++
	return m.mu.dir, nil
}

// release removes the directory after its last use.
func (m *modules) release() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.users--; m.mu.users > 0 {
		return nil
	}
	return errors.Join(os.RemoveAll(m.mu.dir), closeLock(m.mu.lock))
}

func closeLock(f *os.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

// makeModules makes a directory with the files, and locks it.
func makeModules() (dir string, lock *os.File, err error) {
	for lock == nil && err == nil { // another server may remove it before it is locked
		if dir, err = os.MkdirTemp("", modulesPrefix); err != nil {
			return "", nil, err
		}
		lock, err = lockModules(dir) // without locks the directory is used all the same: no server removes it then
	}
	if err = errors.Join(extractModules(runtimeModules, "runtime", dir), extractModules(shipped, "shipped", dir)); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir), closeLock(lock))
	}
	return dir, lock, nil
}

// removeModules removes the directories of servers that were killed.
func removeModules(in string) {
	all, _ := filepath.Glob(filepath.Join(in, modulesPrefix+"*"))
	for _, dir := range all {
		if lock, err := lockModules(dir); err == nil && lock != nil {
			_ = errors.Join(os.RemoveAll(dir), lock.Close()) // the next server tries again
		}
	}
}

// extractModules writes the files of a folder of this program.
func extractModules(from fs.FS, folder, dir string) error {
	files, err := fs.Sub(from, folder)
	if err != nil {
		return err
	}
	return fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, path)
		if d.IsDir() {
			return os.MkdirAll(to, 0o700)
		}
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o600)
	})
}
