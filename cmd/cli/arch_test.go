package cli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/sharedtest"
)

// rooms is the import table of docs/architecture.md: each room is a folder with the packages below it that
// belong to no deeper room, and may import the packages of the rooms named beside it. Within a room packages
// import each other as they like. status, invariant and log are open to all.
var rooms = []struct{ folder, imports string }{
	{"cmd/triton", "cmd/cli"},
	{"cmd/libtritonserver", "server server/capi server/repository server/scheduler server/backend"},
	{"cmd/cli", "cmd/cli/serve cmd/cli/perf cmd/cli/analyze cmd/cli/repo server server/local server/access server/repository server/backend analyzer/memory repo pkg/client pkg/gpu pkg/ui pkg"},
	{"cmd/cli/serve", "cmd/cli server server/grpcapi server/frontend server/repository server/store server/model server/scheduler server/backend server/trace pkg/gpu pkg"},
	{"cmd/cli/perf", "cmd/cli server server/local server/repository server/infer perf perf/load perf/result perf/service pkg/client pkg/kserve pkg/tensor pkg/ui pkg"},
	{"cmd/cli/analyze", "cmd/cli cmd/cli/perf server/scheduler perf perf/result analyzer analyzer/memory analyzer/search analyzer/report analyzer/settings pkg/client pkg/kserve pkg/modelconfig pkg/gpu pkg/ui pkg"},
	{"cmd/cli/repo", "cmd/cli repo repo/lint pkg/client pkg/modelconfig pkg/onnxmodel pkg/ui pkg"},
	{"deploy", "cmd/cli"},
	{"server", "server/local server/capi server/httpapi server/grpcapi server/http1 server/platform server/fleet server/traffic server/frontend server/access server/repository server/store server/model server/scheduler server/backend server/cache server/shm server/stats server/trace server/infer server/memory pkg/client pkg/kserve pkg/modelconfig pkg/tensor pkg/gpu pkg"},
	{"server/local", "server server/shm server/infer pkg/client pkg/kserve pkg/tensor"},
	{"server/capi", "server server/frontend server/backend server/infer pkg/kserve pkg/modelconfig pkg/tensor pkg"},
	{"server/httpapi", "server server/http1 server/frontend server/access server/shm server/trace server/infer server/memory pkg/kserve pkg/modelconfig pkg/tensor pkg"},
	{"server/grpcapi", "server server/frontend server/access server/shm server/trace server/infer server/memory pkg/kserve pkg/tensor pkg"},
	{"server/http1", "server pkg"},
	{"server/platform", "server/http1 server/httpapi server/frontend server/access server/infer server/memory pkg"},
	{"server/fleet", "server/infer pkg"},
	{"server/traffic", "server server/infer pkg/kserve pkg/tensor pkg"},
	{"server/frontend", "server/trace server/infer pkg/tensor pkg"},
	{"server/access", "server/infer pkg"},
	{"server/repository", "server server/capi server/store server/model server/backend server/stats server/infer pkg/modelconfig pkg"},
	{"server/store", "pkg/modelconfig"},
	{"server/model", "server server/repository server/store server/ensemble server/instance server/scheduler server/backend server/cache server/stats server/infer pkg/kserve pkg/modelconfig pkg/tensor pkg"},
	{"server/ensemble", "server/scheduler server/stats server/infer pkg/kserve pkg/tensor pkg"},
	{"server/instance", "server server/scheduler server/backend server/stats server/infer pkg/tensor pkg"},
	{"server/scheduler", "server/stats server/infer pkg/kserve pkg/modelconfig pkg/tensor pkg"},
	{"server/backend", "server server/capi server/infer pkg/kserve pkg/modelconfig pkg/onnxmodel pkg/tensor pkg"},
	{"server/cache", "server/capi server/scheduler server/stats server/infer pkg/kserve pkg/tensor pkg"},
	{"server/shm", "pkg/kserve pkg/tensor pkg"},
	{"server/stats", "server/infer pkg"},
	{"server/trace", "server/infer pkg/kserve pkg/tensor pkg"},
	{"server/infer", "server/memory pkg/kserve pkg/tensor pkg"},
	{"server/memory", "pkg/tensor"},
	{"perf", "perf/load pkg/client pkg/kserve pkg/tensor pkg/ui pkg"},
	{"perf/load", "pkg/client pkg/kserve pkg"},
	{"perf/result", "perf pkg/ui pkg"},
	{"perf/service", "perf pkg/client pkg/kserve pkg/tensor"},
	{"analyzer", "analyzer/memory analyzer/settings pkg/client pkg/kserve pkg/modelconfig pkg/gpu pkg"},
	{"analyzer/memory", "analyzer pkg/modelconfig pkg/gpu pkg/ui pkg"},
	{"analyzer/search", "analyzer"},
	{"analyzer/report", "analyzer analyzer/settings pkg/ui pkg"},
	{"analyzer/settings", "analyzer pkg"},
	{"repo", "repo/lint pkg/modelconfig pkg/onnxmodel pkg/tensor pkg"},
	{"repo/lint", "repo pkg/modelconfig pkg/onnxmodel pkg/ui pkg"},
	{"pkg/client", "pkg/kserve pkg/tensor pkg"},
	{"pkg/kserve", "pkg/tensor pkg"},
	{"pkg/modelconfig", "pkg/tensor pkg"},
	{"pkg/onnxmodel", "pkg/modelconfig pkg/tensor pkg"},
	{"pkg/tensor", ""},
	{"pkg/gpu", ""},
	{"pkg/ui", ""},
	{"pkg", ""},
}

var openToAll = []string{"pkg/status", "pkg/invariant", "pkg/log"}

// isRig reports whether a package is for tests only: it lies in a folder whose name ends in "test". No other
// package imports one.
func isRig(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(folder string) bool { return strings.HasSuffix(folder, "test") })
}

// roomOf returns the room of a package: the deepest folder of the table that holds it.
func roomOf(name string) string {
	found := ""
	for _, r := range rooms {
		if (name == r.folder || strings.HasPrefix(name, r.folder+"/")) && len(r.folder) > len(found) {
			found = r.folder
		}
	}
	return found
}

type listed struct {
	ImportPath string
	Name       string
	Doc        string
	Imports    []string
}

func listPackages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Name,Doc,Imports", "triton/...").Output()
	require.NoError(t, err)
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all = append(all, p)
	}
}

func TestImportTable(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(p.ImportPath, "triton/")
		room := roomOf(name)
		if room == "" {
			t.Errorf("%s lies in no room of the import table: decide where it belongs, or add a room", name)
			continue
		}
		used[room] = true
		i := slices.IndexFunc(rooms, func(r struct{ folder, imports string }) bool { return r.folder == room })
		allowed := strings.Fields(rooms[i].imports)
		for _, path := range p.Imports {
			ours, ok := strings.CutPrefix(path, "triton/")
			if !ok || isRig(name) {
				continue
			}
			if other := roomOf(ours); other != room && !slices.Contains(allowed, other) && !slices.Contains(openToAll, ours) {
				t.Errorf("%s imports %s: the import table does not let the room %s import the room %s", name, ours, room, other)
			}
			if isRig(ours) {
				t.Errorf("%s imports %s, which is for tests only", name, ours)
			}
		}
	}
	for _, r := range rooms {
		if !used[r.folder] {
			t.Errorf("the import table has the room %s, in which there is no package", r.folder)
		}
	}
}

// TestPackagesPage compares the list of packages in docs/architecture.md with their comments.
func TestPackagesPage(t *testing.T) {
	t.Parallel()
	var packages, rigs strings.Builder
	for _, p := range listPackages(t) {
		name, list := strings.TrimPrefix(p.ImportPath, "triton/"), &packages
		if isRig(name) {
			list = &rigs
		}
		purpose := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(p.Doc, "Package "+p.Name+" "), "Command "+path.Base(name)+" "), ".")
		fmt.Fprintf(list, "| `%s` | %s |\n", name, sharedtest.GoldenCell(purpose))
	}
	const head = "| Package | Purpose |\n|---|---|\n"
	sharedtest.GoldenSection(t, filepath.Join("..", "..", "docs", "architecture.md"), "packages",
		head+packages.String()+"\nFor tests only:\n\n"+head+rigs.String())
}

func TestEveryPackageIsDocumented(t *testing.T) {
	t.Parallel()
	for _, p := range listPackages(t) {
		if !strings.HasPrefix(p.Doc, "Package "+p.Name) && p.Name != "main" {
			t.Errorf("%s: package comment missing or not starting with %q", p.ImportPath, "Package "+p.Name)
		}
	}
}

// TestCgo keeps cgo in the packages made for it (docs/architecture.md), so that the
// rest builds everywhere.
func TestCgo(t *testing.T) {
	t.Parallel()
	packages := []string{
		"triton/server/backend/onnx", "triton/server/backend/native",
		"triton/pkg/cuda", "triton/pkg/gpu/nvml", "triton/pkg/sharedlib",
		"triton/server/capi", "triton/server/capi/inprocess", "triton/server/capi/capitest", "triton/server/backend/plugin",
		"triton/server/cache/library", "triton/server/repository/agents/library",
	}
	for _, p := range listPackages(t) {
		for _, i := range []string{"C", "github.com/yalue/onnxruntime_go", "github.com/NVIDIA/go-nvml/pkg/nvml"} {
			if slices.Contains(p.Imports, i) && !slices.Contains(packages, p.ImportPath) {
				t.Errorf("%s imports %s", p.ImportPath, i)
			}
		}
	}
}
