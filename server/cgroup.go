package server

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// controlGroups calls visit for the control group of this process that has a controller, and
// for all ancestors of the group, with the directory of each. v2 tells the two versions of
// control groups apart. root is the file system.
func controlGroups(root fs.FS, controller string, visit func(dir string, v2 bool)) {
	groups, _ := fs.ReadFile(root, "proc/self/cgroup") // without it there is no limit
	for line := range strings.Lines(string(groups)) {
		// hierarchy:controllers:group; version 2 has no controllers
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		names := strings.Split(f[1], ",")
		switch {
		case f[1] == "":
			climb(f[2], func(dir string) { visit(path.Join("sys/fs/cgroup", dir), true) })
		case slices.Contains(names, controller):
			climb(f[2], func(dir string) {
				for _, mount := range slices.Compact([]string{f[1], controller}) {
					visit(path.Join("sys/fs/cgroup", mount, dir), false)
				}
			})
		}
	}
}

// climb calls visit for a control group and all its ancestors.
func climb(group string, visit func(string)) {
	for dir := path.Clean("/" + group); ; dir = path.Dir(dir) {
		visit(dir)
		if dir == "/" {
			return
		}
	}
}
