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
var notVersions = []string{"configs", "initial_state", "warmup"}

// Versions lists the candidates in a model's directory by name.
func Versions(dir fs.FS) ([]VersionDir, error) {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if isDir(dir, e, e.Name()) {
			names = append(names, e.Name())
		}
	}
	return VersionsOf(names), nil
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

func versionDir(name string) VersionDir {
	v := VersionDir{Name: name}
	if len(name) > 1 && name[0] == '0' {
		v.Ignored = "ignore version directory '" + name + "' which contains leading zeros in its directory name"
		return v
	}
	// Triton reads as many digits as there are: "1abc" is version 1.
	end := 0
	if name != "" && (name[0] == '-' || name[0] == '+') {
		end = 1
	}
	for end < len(name) && isDigit(name[end]) {
		end++
	}
	n, err := strconv.ParseInt(name[:end], 10, 64)
	if err != nil {
		v.Ignored = "ignore version directory '" + name + "' which fails to convert to integral number"
	}
	v.Number = n
	return v
}

// Select returns the versions that a policy serves among those present, highest first. missing
// has the versions that a specific policy names and that are not present.
func Select(policy *pb.ModelVersionPolicy, present []int64) (chosen, missing []int64) {
	all := slices.Clone(present)
	slices.SortFunc(all, func(a, b int64) int { return cmp.Compare(b, a) })
	all = slices.Compact(all)
	switch p := policy.GetPolicyChoice().(type) {
	case *pb.ModelVersionPolicy_All_:
		return all, nil
	case *pb.ModelVersionPolicy_Latest_:
		return all[:min(uint64(len(all)), uint64(p.Latest.GetNumVersions()))], nil
	case *pb.ModelVersionPolicy_Specific_:
		for _, v := range p.Specific.GetVersions() {
			if !slices.Contains(all, v) && !slices.Contains(missing, v) {
				missing = append(missing, v)
			}
		}
		for _, v := range all {
			if slices.Contains(p.Specific.GetVersions(), v) {
				chosen = append(chosen, v)
			}
		}
		return chosen, missing
	}
	return all[:min(len(all), 1)], nil // the default
}
