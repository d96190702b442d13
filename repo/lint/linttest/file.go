package linttest

import (
	"maps"
	"slices"
	"strings"

	"triton/pkg/modelconfig"
)

// pointer is a file that Git LFS writes when it does not fetch the content.
const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"

// file changes the files of a model.
func (m *mutation) file(model string) {
	var mine, versions []string
	for _, path := range slices.Sorted(maps.Keys(m.files)) {
		if rest, ok := strings.CutPrefix(path, model+"/"); ok {
			mine = append(mine, path)
			if v, _, ok := strings.Cut(rest, "/"); ok && modelconfig.VersionsOf([]string{v}) != nil && !slices.Contains(versions, v) {
				versions = append(versions, v)
			}
		}
	}
	if len(mine) == 0 {
		return
	}
	path := pick(m, mine)
	switch n := m.IntN(10); {
	case n == 0:
		m.note("remove %s", path)
		delete(m.files, path)
	case n == 1 && !strings.HasSuffix(path, "/"):
		m.note("cut %s in half", path)
		m.files[path] = m.files[path][:len(m.files[path])/2]
	case n == 2 && !strings.HasSuffix(path, "/"):
		m.note("%s is a Git LFS pointer", path)
		m.files[path] = pointer
	case n == 3 && len(versions) > 0:
		to := pick(m, []string{"01", "abc", "2", "v1", "0", "1abc", "10", "-1"})
		m.note("%s: rename version %s to %s", model, versions[0], to)
		m.move(model+"/"+versions[0]+"/", model+"/"+to+"/")
	case n == 4 && len(versions) > 0:
		m.note("%s: config.pbtxt inside version %s", model, versions[0])
		m.move(model+"/"+modelconfig.FileName, model+"/"+versions[0]+"/"+modelconfig.FileName)
	case n == 5 && len(versions) > 0:
		m.note("%s: the files of version %s beside it", model, versions[0])
		m.move(model+"/"+versions[0]+"/", model+"/")
	case n == 6:
		to := pick(m, []string{"2/", "a/", "0/", "10/", ".git/", "configs/", "warmup/"})
		m.note("%s: empty directory %s", model, to)
		m.files[model+"/"+to] = ""
	case n == 7:
		m.note("remove model %s", model)
		for _, path := range mine {
			delete(m.files, path)
		}
	case n == 8:
		m.note("rename model %s", model)
		m.move(model+"/", model+"_renamed/")
	default:
		m.note("%s is empty", path)
		if !strings.HasSuffix(path, "/") {
			m.files[path] = ""
		}
	}
}

// move renames a file, or all files below a directory.
func (m *mutation) move(from, to string) {
	for _, path := range slices.Sorted(maps.Keys(m.files)) {
		if rest, ok := strings.CutPrefix(path, from); ok && !strings.HasPrefix(path, to) {
			m.files[to+rest] = m.files[path]
			delete(m.files, path)
		}
	}
}
