package modelconfig

import (
	"cmp"
	"io/fs"
	"slices"
	"strconv"

	pb "triton/pkg/inferencepb"
)

// VersionDir is a subdirectory of a model that may be a version.
type VersionDir struct {
	Name   string
	Number int64
	// Ignored is Triton's warning if the directory is not a version; empty if
	// it is one.
	Ignored string
}

// notVersions are the names of subdirectories that are not versions.
var notVersions = []string{NamedFolder, "initial_state", "warmup"}

// Versions lists the candidates in a model's directory by name.
func Versions(dir fs.FS) ([]VersionDir, error) {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return nil, err
	}
	return VersionsOf(subdirs(dir, entries)), nil
}

// subdirs returns the names of the entries that are directories; links are followed.
func subdirs(dir fs.FS, entries []fs.DirEntry) (names []string) {
	for _, e := range entries {
		if isDir(dir, e, e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

// VersionsOf lists the candidates among the folders of a model's directory, in
// their order.
func VersionsOf(folders []string) []VersionDir {
	var list []VersionDir
	for _, name := range folders {
		if !slices.Contains(notVersions, name) {
			list = append(list, versionDir(name))
		}
	}
	return list
}

// versionDir reads the name of a folder. A version has exactly one name: Triton also takes
// "1_backup" for version 1, so that a copy may silently replace it.
func versionDir(name string) VersionDir {
	v := VersionDir{Name: name}
	if len(name) > 1 && name[0] == '0' {
		v.Ignored = "ignore version directory '" + name + "' which contains leading zeros in its directory name"
		return v
	}
	n, err := strconv.ParseInt(name, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != name || n < 0 {
		v.Ignored = "ignore version directory '" + name + "' which fails to convert to integral number"
		return v
	}
	v.Number = n
	return v
}

// DetectionFolder returns the folder of a model, among all in order, whose files tell the
// backend: the first version, or the first folder of a model without versions.
func DetectionFolder(folders []string) (name string, ok bool) {
	if len(folders) == 0 {
		return "", false
	}
	for _, v := range VersionsOf(folders) {
		if v.Ignored == "" {
			return v.Name, true
		}
	}
	return folders[0], true
}

func descending(a, b int64) int { return cmp.Compare(b, a) }

// Select returns the versions that a policy serves among those present, highest first. missing
// has the versions that a specific policy names and that are not present.
func Select(policy *pb.ModelVersionPolicy, present []int64) (chosen, missing []int64) {
	all := slices.Clone(present)
	slices.SortFunc(all, descending)
	all = slices.Compact(all)
	switch p := policy.GetPolicyChoice().(type) {
	case *pb.ModelVersionPolicy_All_:
		return all, nil
	case *pb.ModelVersionPolicy_Latest_:
		return all[:min(uint64(len(all)), uint64(p.Latest.GetNumVersions()))], nil
	case *pb.ModelVersionPolicy_Specific_:
		named := make(map[int64]bool, len(p.Specific.GetVersions()))
		for _, v := range p.Specific.GetVersions() {
			if _, present := slices.BinarySearchFunc(all, v, descending); !present && !named[v] {
				missing = append(missing, v)
			}
			named[v] = true
		}
		for _, v := range all {
			if named[v] {
				chosen = append(chosen, v)
			}
		}
		return chosen, missing
	}
	return all[:min(len(all), 1)], nil // the default
}
