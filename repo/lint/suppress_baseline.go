package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"triton/repo"
)

// baselineVersion is the version of the form of the file.
const baselineVersion = 1

// baselineFile is the file. Messages are for its readers; fingerprints count.
type baselineFile struct {
	Version  int             `json:"version"`
	Findings []baselineEntry `json:"findings"`
}

type baselineEntry struct {
	Fingerprint string `json:"fingerprint"`
	Rule        string `json:"rule"`
	File        string `json:"file"`
	Message     string `json:"message"`
}

// ApplyBaseline returns the findings that the baseline in a file does not have, and how many of its
// findings about these models are no longer found.
func ApplyBaseline(file string, models []repo.Model, found []repo.Finding) (kept []repo.Finding, fixed int, err error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fmt.Errorf("baseline %s: there is no such file; --write-baseline writes it", file)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("baseline: %w", err)
	}
	var b baselineFile
	if err := json.Unmarshal(text, &b); err != nil {
		return nil, 0, fmt.Errorf("baseline %s: %w; write it again with --write-baseline", file, err)
	}
	if b.Version != baselineVersion {
		return nil, 0, fmt.Errorf("baseline %s has version %d, this program reads %d: write it again with --write-baseline", file, b.Version, baselineVersion)
	}
	accepted := make(map[string]baselineEntry, len(b.Findings))
	for _, e := range b.Findings {
		accepted[e.Fingerprint] = e
	}
	ids, err := relativeFingerprints(file, found)
	if err != nil {
		return nil, 0, err
	}
	for i, f := range found {
		if _, ok := accepted[ids[i]]; ok {
			delete(accepted, ids[i])
		} else {
			kept = append(kept, f)
		}
	}
	for _, e := range accepted {
		path := filepath.Join(filepath.Dir(file), filepath.FromSlash(e.File))
		if slices.ContainsFunc(models, func(m repo.Model) bool { return below(m.Dir, path) }) {
			fixed++
		}
	}
	return kept, fixed, nil
}

// WriteBaseline writes the findings for ApplyBaseline. The file is where the baseline will be.
func WriteBaseline(w io.Writer, file string, found []repo.Finding) error {
	ids, err := relativeFingerprints(file, found)
	if err != nil {
		return err
	}
	b := baselineFile{Version: baselineVersion, Findings: []baselineEntry{}}
	for i, f := range found {
		path, err := relative(file, f.File)
		if err != nil {
			return err
		}
		b.Findings = append(b.Findings, baselineEntry{ids[i], f.Rule, path, f.Msg})
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(b)
}

// relativeFingerprints returns the fingerprints for paths from the baseline's folder, so that they
// do not depend on where the program is started.
func relativeFingerprints(file string, found []repo.Finding) ([]string, error) {
	local := make([]repo.Finding, len(found))
	for i, f := range found {
		path, err := relative(file, f.File)
		if err != nil {
			return nil, err
		}
		f.Msg = repo.LocalMessage(f)
		f.File = path
		local[i] = f
	}
	return repo.Fingerprints(local), nil
}

// relative returns a path from the folder of the baseline.
func relative(file, path string) (string, error) {
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return "", err
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		return filepath.ToSlash(path), nil // on another drive
	}
	return filepath.ToSlash(rel), nil
}
