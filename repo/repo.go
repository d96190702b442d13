// Package repo reads the layout of a model repository: models, their configurations,
// versions and files. It also defines findings. The rules and the printers are in
// repo/lint; it loads nothing.
package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"triton/pkg/modelconfig"
)

// Model is one model directory.
type Model struct {
	Name string // of the directory
	Dir  string
	// ConfigFile is the path of the configuration, whether it exists or not.
	ConfigFile string
	// Repository is the directory that has the model's directory; empty for a configuration
	// outside a model's directory.
	Repository string
	// Versions are the subdirectories that are, or resemble, versions.
	Versions []modelconfig.VersionDir
	// ConfigOnly reports that the path was a configuration file outside a model's
	// directory, so that only the configuration is checked.
	ConfigOnly bool
	// Texts replace the content of configurations by their path, such as those that an editor has
	// not saved.
	Texts map[string][]byte
}

// ErrNoFile is returned by ReadConfig for what is no file with text, such as a pipe, which may never
// end, and for a link that leads to nothing.
var ErrNoFile = errors.New("it is no file")

// ReadConfig returns the text of the configuration.
func (m *Model) ReadConfig() ([]byte, error) {
	if text, ok := m.Texts[m.ConfigFile]; ok {
		return text, nil
	}
	info, err := os.Stat(m.ConfigFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if to, linked := os.Readlink(m.ConfigFile); linked == nil {
			return nil, fmt.Errorf("read %s: %w: the link leads to %q, which does not exist", m.ConfigFile, ErrNoFile, to)
		}
		return nil, err
	case err == nil && !info.Mode().IsRegular():
		return nil, fmt.Errorf("read %s: %w", m.ConfigFile, ErrNoFile)
	}
	return modelconfig.ReadText(m.ConfigFile)
}

// FS returns the model's directory.
func (m *Model) FS() fs.FS { return os.DirFS(m.Dir) }

// CustomConfigs returns the configurations that a server uses instead of config.pbtxt
// if --model-config-name names them.
func (m *Model) CustomConfigs() ([]string, error) {
	if m.ConfigOnly {
		return nil, nil
	}
	return filepath.Glob(filepath.Join(globEscape.Replace(m.Dir), modelconfig.NamedFolder, "*.pbtxt"))
}

var globEscape = strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`)

// Path returns a path below the model's directory.
func (m *Model) Path(elem ...string) string {
	return filepath.Join(append([]string{m.Dir}, elem...)...)
}

// ErrNoModel is returned by Open for a directory without models.
var ErrNoModel = errors.New("no model found")

// Open returns the models at a path: a repository (a directory of model directories),
// one model's directory, or one configuration file.
func Open(path string) ([]Model, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return openConfig(path)
	}
	model, err := isModel(path)
	if err != nil {
		return nil, err
	}
	if model {
		m, err := open(path)
		return []Model{m}, err
	}
	return openRepository(path)
}

// openConfig returns the model of a configuration file. ConfigOnly is set unless the file is
// the config.pbtxt of a directory with versions.
func openConfig(path string) ([]Model, error) {
	dir := filepath.Dir(path)
	if filepath.Base(path) == modelconfig.FileName {
		m, err := open(dir)
		if err != nil {
			return nil, err
		}
		if m.ConfigOnly = len(m.Versions) == 0; m.ConfigOnly {
			m.Repository = ""
		}
		return []Model{m}, nil
	}
	if filepath.Ext(path) != ".pbtxt" {
		return nil, fmt.Errorf("%s is neither a directory nor a %s", path, modelconfig.FileName)
	}
	name, err := base(dir)
	return []Model{{Name: name, Dir: dir, ConfigFile: path, ConfigOnly: true}}, err
}

// OpenText returns the model of a configuration that is at hand as text, such as that of an editor
// or of standard input. The path says where its file is or would be; it need not exist.
func OpenText(path string, text []byte) (Model, error) {
	if filepath.Base(path) == modelconfig.FileName {
		if info, err := os.Stat(filepath.Dir(path)); err == nil && info.IsDir() {
			models, err := openConfig(path)
			if err != nil {
				return Model{}, err
			}
			models[0].Texts = map[string][]byte{path: text}
			return models[0], nil
		}
	}
	name, err := base(filepath.Dir(path))
	return Model{Name: name, Dir: filepath.Dir(path), ConfigFile: path, ConfigOnly: true, Texts: map[string][]byte{path: text}}, err
}

// openRepository returns the models of the subdirectories.
func openRepository(path string) ([]Model, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var models []Model
	for _, e := range entries {
		dir := filepath.Join(path, e.Name())
		info, err := os.Stat(dir)
		if err != nil || !info.IsDir() || modelconfig.PassedOver(e.Name()) {
			continue // as the server; Triton ignores files and dead links too
		}
		m, err := open(dir)
		if err != nil {
			return nil, err
		}
		models = append(models, m)
	}
	if len(models) == 0 {
		return nil, fmt.Errorf("%w in %s: it has no subdirectory", ErrNoModel, path)
	}
	return models, nil
}

// isModel reports whether a directory is a model's rather than a repository: it has a
// configuration, or a version directory without version directories of its own. (A repository
// may have models that are named by numbers.)
func isModel(path string) (bool, error) {
	if _, err := os.Stat(filepath.Join(path, modelconfig.FileName)); err == nil {
		return true, nil
	}
	versions, err := modelconfig.Versions(os.DirFS(path))
	if err != nil {
		return false, err
	}
	for _, v := range versions {
		if v.Ignored != "" {
			continue
		}
		if inner, err := modelconfig.Versions(os.DirFS(filepath.Join(path, v.Name))); err == nil && len(inner) == 0 {
			return true, nil
		}
	}
	return false, nil
}

func open(dir string) (Model, error) {
	name, err := base(dir)
	if err != nil {
		return Model{}, err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Model{}, err
	}
	m := Model{Name: name, Dir: dir, ConfigFile: filepath.Join(dir, modelconfig.FileName), Repository: filepath.Dir(abs)}
	m.Versions, err = modelconfig.Versions(m.FS())
	return m, err
}

// Sibling returns another model of a model's repository. It reports false if there is none.
func (m *Model) Sibling(name string) (Model, bool) {
	if m.Repository == "" || name == "" || name != filepath.Base(name) || !filepath.IsLocal(name) {
		return Model{}, false
	}
	dir := filepath.Join(m.Repository, name)
	if is, err := isModel(dir); err != nil || !is {
		return Model{}, false
	}
	s, err := open(dir)
	return s, err == nil
}

// base returns the name of a directory, including "." and "..".
func base(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	return filepath.Base(abs), err
}
