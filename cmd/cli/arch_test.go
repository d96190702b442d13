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

// rooms is the import table of docs/architecture.md, from top to bottom. A room is some folders, with the packages
// below them that belong to no deeper folder of the table. It may import the rooms whose first folders are named
// beside it, all of which stand below it, so that rooms cannot depend on each other in a circle. Within a room
// packages import each other as they like. status, invariant, log and replacefile are open to all.
var rooms = []room{
	{"cmd/triton cmd/libtritonserver deploy", "cmd/cli cmd/cli/flags server server/repository server/backend/plugin server/backend server/scheduler"},
	{"cmd/cli", "cmd/cli/analyze cmd/cli/perf cmd/cli/serve cmd/cli/repo cmd/cli/flags analyzer/bench repo server/local server server/repository server/backend server/access pkg/client pkg/ui"},
	{"cmd/cli/analyze", "cmd/cli/perf cmd/cli/flags analyzer/report analyzer/memory analyzer/profile analyzer/bench analyzer/trial perf/result perf perf/load server/scheduler pkg/client pkg/modelconfig pkg/kserve pkg/ui"},
	{"cmd/cli/perf", "cmd/cli/flags perf/result perf/service perf perf/load server/local server server/repository server/infer pkg/client pkg/kserve pkg/ui"},
	{"cmd/cli/serve", "cmd/cli/flags server server/grpcapi server/repository server/model server/backend/plugin server/frontend server/backend server/store server/scheduler server/http1 server/infer pkg/ui"},
	{"cmd/cli/repo", "cmd/cli/flags repo pkg/client pkg/modelconfig pkg/kserve pkg/ui"},
	{"cmd/cli/flags cmd/cli/process cmd/cli/machine", "repo server/backend pkg/client pkg/ui pkg"},
	{"analyzer/report", "analyzer/profile analyzer/trial pkg/kserve pkg/ui"},
	{"analyzer/memory", "analyzer/bench analyzer/trial pkg/modelconfig pkg/kserve pkg/ui"},
	{"analyzer/profile analyzer/search", "analyzer/bench analyzer/trial pkg/client pkg/modelconfig pkg/kserve pkg/ui"},
	{"analyzer/bench analyzer/memory/meter", "analyzer/trial pkg/client pkg/ui pkg"},
	{"analyzer/trial analyzer/settings analyzer/capacity", "pkg/modelconfig pkg/kserve pkg/ui pkg"},
	{"perf/result perf/report perf/llm perf/offline", "perf perf/load pkg/client pkg/kserve pkg/ui pkg"},
	{"perf/service", "perf perf/load pkg/client pkg/kserve"},
	{"perf", "perf/load pkg/client pkg/kserve pkg/ui"},
	{"perf/load perf/data perf/recording", "pkg/client pkg/kserve pkg/ui pkg"},
	{"repo", "pkg/modelconfig pkg/kserve pkg/ui pkg"},
	{"server/local server/fake", "server server/frontend server/backend server/infer pkg/client pkg/kserve"},
	{"server", "server/platform server/httpapi server/grpcapi server/fleet server/repository server/model server/cache server/backend/plugin server/frontend server/backend server/store server/scheduler server/access server/http1 server/infer pkg/modelconfig pkg/kserve pkg/ui pkg"},
	{"server/platform", "server/httpapi server/frontend server/access server/http1 server/infer pkg"},
	{"server/httpapi", "server/frontend server/access server/http1 server/infer pkg/modelconfig pkg/kserve pkg"},
	{"server/grpcapi", "server/frontend server/access server/http1 server/infer pkg/kserve pkg"},
	{"server/fleet server/traffic", "server/infer pkg/modelconfig pkg/kserve"},
	{"server/repository", "server/model server/backend server/store server/infer pkg/modelconfig pkg/kserve"},
	{"server/model server/repository/agents server/validation", "server/ensemble server/instance server/cache server/backend/plugin server/backend server/store server/scheduler server/http1 server/infer pkg/modelconfig pkg/kserve pkg"},
	{"server/ensemble", "server/scheduler server/infer pkg/kserve"},
	{"server/instance", "server/backend server/scheduler server/http1 server/infer pkg/kserve"},
	{"server/cache", "server/backend/plugin server/scheduler server/infer pkg/kserve pkg"},
	{"server/backend/plugin server/backend/isolated server/capi", "server/frontend server/backend server/http1 server/infer pkg/modelconfig pkg/kserve pkg"},
	{"server/frontend server/shm server/trace", "server/infer pkg/kserve pkg/ui pkg"},
	{"server/backend", "server/http1 server/infer pkg/modelconfig pkg/kserve pkg"},
	{"server/store", "pkg/modelconfig"},
	{"server/scheduler", "server/infer pkg/modelconfig pkg/kserve"},
	{"server/access", "server/infer pkg"},
	{"server/http1 server/http2 server/connlimit server/hostpolicy", "pkg/kserve pkg"},
	{"server/infer server/memory server/stats server/readiness", "pkg/kserve pkg"},
	{"pkg/client pkg/scrape", "pkg/modelconfig pkg/kserve pkg"},
	{"pkg/modelconfig pkg/onnxmodel pkg/framework pkg/trafficrules pkg/fleetstate", "pkg/kserve pkg"},
	{"pkg/kserve pkg/tensor pkg/inferencepb", "pkg"},
	{"pkg/ui pkg/measure pkg/gpu pkg/cuda", ""},
	{"pkg", ""},
}

type room struct{ folders, imports string }

func (r room) name() string { return strings.Fields(r.folders)[0] }

var openToAll = []string{"pkg/status", "pkg/invariant", "pkg/log", "pkg/replacefile"}

// isRig reports whether a package is for tests only: it lies in a folder whose name ends in "test". No other
// package imports one.
func isRig(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(folder string) bool { return strings.HasSuffix(folder, "test") })
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

// roomOf returns the index of a package's room, that of the deepest folder which holds it; -1: there is none.
func roomOf(name string) int {
	found, deepest := -1, ""
	for i, r := range rooms {
		for _, folder := range strings.Fields(r.folders) {
			if (name == folder || strings.HasPrefix(name, folder+"/")) && len(folder) > len(deepest) {
				found, deepest = i, folder
			}
		}
	}
	return found
}

func TestImportTable(t *testing.T) {
	t.Parallel()
	used := map[string]bool{} // rooms with packages, and pairs of rooms with imports
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(p.ImportPath, "triton/")
		if isRig(name) {
			continue
		}
		at := roomOf(name)
		if at < 0 {
			t.Errorf("%s lies in no room of the import table: decide where it belongs, or add a room", name)
			continue
		}
		used[rooms[at].name()] = true
		for _, path := range p.Imports {
			ours, ok := strings.CutPrefix(path, "triton/")
			if !ok || slices.Contains(openToAll, ours) {
				continue
			}
			if isRig(ours) {
				t.Errorf("%s imports %s, which is for tests only", name, ours)
				continue
			}
			if other := roomOf(ours); other >= 0 && other != at {
				used[rooms[at].name()+" "+rooms[other].name()] = true
				if !slices.Contains(strings.Fields(rooms[at].imports), rooms[other].name()) {
					t.Errorf("%s imports %s: the import table does not let the room %s import the room %s", name, ours, rooms[at].name(), rooms[other].name())
				}
			}
		}
	}
	for at, r := range rooms {
		if !used[r.name()] {
			t.Errorf("the import table has the room %s, in which there is no package", r.name())
		}
		for _, name := range strings.Fields(r.imports) {
			if !slices.ContainsFunc(rooms[at+1:], func(below room) bool { return below.name() == name }) {
				t.Errorf("the room %s may import %s, which does not stand below it", r.name(), name)
			}
			if !used[r.name()+" "+name] {
				t.Errorf("no package of the room %s imports the room %s: take it out of the table", r.name(), name)
			}
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
