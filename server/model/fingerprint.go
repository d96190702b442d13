package model

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/server/infer"
	"triton/server/store"
)

// fingerprint says what the answers of one load of a version depend on. Answers
// that are kept under it are found again by whoever has the same fingerprint: the
// same model loaded again, in this process or after a restart, and other servers
// that share the cache. It is made of
//
//   - the model's name and the version's number,
//   - the configuration as the backend completed it, without instance groups and
//     version policy, which do not change answers,
//   - the names and contents of the files in the version's directory and beside
//     the versions, and of the custom operators' libraries,
//   - of an ensemble, in place of files: the fingerprints of the versions that its
//     steps use.
//
// Where the files lie, how old they are and how often the model was loaded is no
// part of it. A changed model never has the fingerprint of the one before: the
// files are looked at before the engine reads them and again when their contents
// are hashed. If anything was changed in between, nobody knows what the engine
// has read, and the fingerprint is a random one that nothing else has; so it is
// when a file cannot be read. What an engine gets from elsewhere is not seen.
type fingerprint struct {
	home      string   // the model's directory
	number    string   // of its entries, the version's
	source    string   // and the one with the configuration
	libraries []string // of custom operators

	before [sha256.Size]byte // the files as they were before the load
	err    error             // of looking at them

	once sync.Once
	text string
	why  error // why text is random; nil: it is not
}

// observe looks at the files of a version that is about to be loaded.
func observe(s Source) *fingerprint {
	f := &fingerprint{
		home: s.Folder.Dir, number: s.Version, source: s.ConfigEntry,
		libraries: s.Config.GetModelOperations().GetOpLibraryFilename(),
	}
	f.before, f.err = f.sum(age)
	return f
}

// errChanged says that a fingerprint would be that of files that the engine may
// not have read.
var errChanged = errors.New("files were changed while the model was loaded")

// of returns the fingerprint of a version. The first call reads all files.
func (f *fingerprint) of(v *Loaded) string {
	f.once.Do(func() {
		if f.text, f.why = f.compute(v); f.why != nil {
			f.text = rand.Text()
		}
	})
	return f.text
}

func (f *fingerprint) compute(v *Loaded) (string, error) {
	config := proto.CloneOf(v.config)
	config.InstanceGroup, config.VersionPolicy = nil, nil
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(config)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q\n", v.model, v.text, text)
	if v.config.GetEnsembleScheduling() != nil {
		for _, p := range v.parts {
			fmt.Fprintf(h, "%q\n", p.print.of(p))
		}
		return string(h.Sum(nil)), nil
	}
	files, err := f.sum(content)
	if err == nil {
		err = f.err
	}
	if err != nil {
		return "", err
	}
	after, err := f.sum(age)
	if err != nil {
		return "", err
	}
	if after != f.before {
		return "", errChanged
	}
	h.Write(files[:])
	return string(h.Sum(nil)), nil
}

// leaf writes what counts of one file.
type leaf func(w io.Writer, path string, info fs.FileInfo) error

// sum hashes all files of the version.
func (f *fingerprint) sum(each leaf) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	entries, err := os.ReadDir(f.home)
	for _, e := range entries {
		name := e.Name()
		if err != nil || name == f.source || store.IsVersion(name) && name != f.number {
			continue
		}
		shown := name
		if name == f.number {
			shown = "." // 1 and 01 are one version
		}
		err = walk(h, filepath.Join(f.home, name), shown, maxNesting, each)
	}
	for i, path := range f.libraries {
		if err == nil {
			err = walk(h, path, fmt.Sprint("library ", i), 0, each)
		}
	}
	return [sha256.Size]byte(h.Sum(nil)), err
}

// maxNesting bounds how deep a folder is read: links may form circles.
const maxNesting = 16

// compiled is the folder of what Python compiles from other files.
const compiled = "__pycache__"

// walk hashes all files at or below a path, in the order of their names. Links
// are followed.
func walk(w io.Writer, path, name string, depth int, each leaf) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		fmt.Fprintf(w, "%q %d\n", name, info.Size())
		return each(w, path, info)
	}
	if depth == 0 {
		return fmt.Errorf("%s: more than %d folders in each other", path, maxNesting)
	}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		if err == nil && e.Name() != compiled {
			err = walk(w, filepath.Join(path, e.Name()), name+"/"+e.Name(), depth-1, each)
		}
	}
	return err
}

// age tells a file from what it was before a change, without reading it.
func age(w io.Writer, _ string, info fs.FileInfo) error {
	_, err := fmt.Fprintf(w, "%d\n", store.Changed(info))
	return err
}

// content is what a file holds.
func content(w io.Writer, path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is neither a file nor a folder", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// steady reports whether the answers of a version are those that its fingerprint
// says. Those of an ensemble are not any more once another version has taken the place
// of a part, or a request has met one: between a part's load and its own, or for as
// long as its own fails.
func (v *Loaded) steady() bool {
	if v.strayed.Load() {
		return false
	}
	for _, p := range v.parts {
		if p.left.Load() || !p.steady() {
			return false
		}
	}
	return true
}

// met notes the version that a step of an ensemble found.
func (v *Loaded) met(step int, p *Loaded) {
	if v.parts[step] != p && !v.strayed.Load() {
		v.strayed.Store(true)
	}
}

// stepFinder finds the models of an ensemble's steps, and notes which versions they
// are.
type stepFinder struct {
	models infer.Submitter
	v      *Loaded
}

// Hold takes a reference to the model of a step.
func (s *stepFinder) Hold(name, version string) (infer.Callee, error) {
	m, err := s.models.Hold(name, version)
	if err != nil {
		return nil, err
	}
	if p, ok := m.(callee); ok {
		for i, step := range s.v.config.GetEnsembleScheduling().GetStep() {
			if step.GetModelName() == name && asksFor(step, version) {
				s.v.met(i, p.version())
			}
		}
	}
	return m, nil
}

// asksFor reports whether a step is for a version, empty for the newest.
func asksFor(step *inferencepb.ModelEnsembling_Step, version string) bool {
	n := step.GetModelVersion()
	return n == -1 && version == "" || n != -1 && strconv.FormatInt(n, 10) == version
}
