package store

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"triton/pkg/modelconfig"
)

// maxAdvised bounds the folders that are read for an advice.
const maxAdvised = 256

// Advice says for each path of this machine that is probably not the one that was meant what to give
// instead: it has no models, it is the folder of one model, or the models are in one of its folders.
// It also names the folders that are not models.
func (p *Paths) Advice() (all []string) {
	for _, path := range p.Roots() {
		if text := advise(path); text != "" {
			all = append(all, text)
		}
		all = append(all, adviseFolders(path)...)
	}
	return all
}

// adviseFolders names the folders of a repository that are passed over, and those beside models that
// look like none.
func adviseFolders(path string) (all []string) {
	var passed, others []string
	models := 0
	for _, folder := range slices.Sorted(slices.Values(foldersOf(path, list(path)))) {
		inside := filepath.Join(path, folder)
		switch {
		case modelconfig.PassedOver(folder):
			passed = append(passed, folder)
		case isModel(inside, list(inside)):
			models++
		default:
			others = append(others, folder)
		}
	}
	if len(passed) > 0 {
		all = append(all, fmt.Sprintf("folders of the model repository %s that are not models are passed over: %s", path, strings.Join(passed, ", ")))
	}
	if models == 0 {
		return all
	}
	for _, folder := range others {
		all = append(all, fmt.Sprintf("%s is not a model, as it has neither a config.pbtxt nor a version folder: move it out of the model repository %s",
			folder, path))
	}
	return all
}

func advise(path string) string {
	at, err := filepath.Abs(path)
	if err != nil {
		at = path
	}
	version, entries := modelFiles(at)
	folders := slices.DeleteFunc(foldersOf(at, entries), modelconfig.PassedOver)
	switch {
	case hasConfig(entries), hasVersion(at, folders):
		return fmt.Sprintf("the model repository %s is a model, not a folder of models: give its parent %s", path, filepath.Dir(at))
	case version && isNumber(filepath.Base(at)):
		return fmt.Sprintf("the model repository %s is a version of the model %s: give the folder with the models, %s",
			path, filepath.Base(filepath.Dir(at)), filepath.Dir(filepath.Dir(at)))
	case len(folders) == 0:
		return fmt.Sprintf("the model repository %s is empty: each folder in it is a model, and it has none", path)
	}
	within := ""
	for _, folder := range folders {
		inside := filepath.Join(at, folder)
		entries := list(inside)
		if isModel(inside, entries) {
			return ""
		}
		for _, name := range foldersOf(inside, entries) {
			model := filepath.Join(inside, name)
			if within == "" && isModel(model, list(model)) {
				within = inside
			}
		}
	}
	if within == "" {
		return ""
	}
	return fmt.Sprintf("no folder of the model repository %s is a model, and those in %s are: give the folder %s", path, filepath.Base(within), within)
}

func list(path string) []os.DirEntry {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxAdvised) // what cannot be read gives no advice
	return entries
}

// modelFiles returns the entries of a folder, and whether one is a model file by its name.
func modelFiles(path string) (found bool, entries []os.DirEntry) {
	entries = list(path)
	for _, e := range entries {
		found = found || !e.IsDir() && strings.HasPrefix(e.Name(), "model.")
	}
	return found, entries
}

func foldersOf(path string, entries []os.DirEntry) (names []string) {
	for _, e := range entries {
		if leadsToDir(e, filepath.Join(path, e.Name())) {
			names = append(names, e.Name())
		}
	}
	return names
}

func hasConfig(entries []os.DirEntry) bool {
	for _, e := range entries {
		if e.Name() == "config.pbtxt" && !e.IsDir() {
			return true
		}
	}
	return false
}

// hasVersion reports whether one of the folders is a version with a model file.
func hasVersion(path string, folders []string) bool {
	for _, name := range folders {
		if !isNumber(name) {
			continue
		}
		if found, _ := modelFiles(filepath.Join(path, name)); found {
			return true
		}
	}
	return false
}

// isModel reports whether a folder looks like that of a model.
func isModel(path string, entries []os.DirEntry) bool {
	if hasConfig(entries) {
		return true
	}
	for _, name := range foldersOf(path, entries) {
		if isNumber(name) {
			return true
		}
	}
	return false
}

func isNumber(name string) bool {
	_, err := strconv.ParseUint(name, 10, 63)
	return err == nil
}
