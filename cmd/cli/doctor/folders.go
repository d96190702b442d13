package doctor

import (
	"context"
	"net/url"
	"os"
	"strings"

	"triton/cmd/cli/process"
	"triton/pkg/ui"
	"triton/repo"
)

// littleSpace is less than most downloaded models, unpacked environments and trace files need.
const littleSpace = 1 << 30

// folders looks at the folders that a server reads and writes.
func folders(_ context.Context, p process.Process, o options) []Finding {
	var found []Finding
	for _, path := range o.repositories {
		found = append(found, repository(path))
	}
	if _, err := os.Stat(o.backends); err == nil {
		found = append(found, about("backends", OK, "%s", o.backends))
	} else {
		found = append(found, about("backends", Note, "no folder %s: the backends of this program are there", o.backends))
	}
	if o.cache != "" {
		found = append(found, writable("store cache", o.cache))
	}
	return append(found, writable("temporary files", temporary(p)))
}

// repository reads a model repository as the linter does.
func repository(path string) Finding {
	const check = "repository"
	if strings.Contains(path, "://") {
		return about(check, Note, "%s is not asked", withoutPassword(path)).do("start the server with --exit-on-error=false and look at /v2/health/ready?verbose to try it")
	}
	if _, err := os.ReadDir(path); err != nil {
		return about(check, Failure, "%s cannot be read", path).do("%v", err)
	}
	models, err := repo.Open(path)
	if err != nil {
		return about(check, Warning, "%s has no models", path).do("%v", err)
	}
	return about(check, OK, "%s: %s (\"triton repo lint %s\" checks them)", path, ui.Plural(len(models), "model"), path)
}

// withoutPassword returns a URL with its password replaced.
func withoutPassword(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		scheme, _, _ := strings.Cut(text, "://")
		return scheme + "://..."
	}
	return u.Redacted()
}

func temporary(p process.Process) string {
	if dir := p.Getenv("TMPDIR"); dir != "" {
		return dir
	}
	return os.TempDir()
}

// writable writes and removes a file in a folder.
func writable(check, dir string) Finding {
	file, err := os.CreateTemp(dir, "triton-doctor-")
	if err != nil {
		return about(check, Failure, "%s cannot be written to", dir).do("%v: give the user of the server the right, or mount a writable folder there", err)
	}
	_ = file.Close()
	_ = os.Remove(file.Name())
	free, known := freeSpace(dir)
	if !known {
		return about(check, OK, "%s can be written to", dir)
	}
	f := about(check, OK, "%s, %s free", dir, ui.Bytes(float64(free)))
	if free < littleSpace {
		f.State = Warning
		f = f.do("downloads, unpacked Python environments and traces may not fit; free some space")
	}
	return f
}
