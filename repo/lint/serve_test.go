package lint_test

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/modelconfig"
	"triton/pkg/tensor"
	"triton/repo"
	"triton/repo/lint"
	"triton/repo/lint/linttest"
	"triton/server"
	"triton/server/backend"
	"triton/server/backend/onnx"
	"triton/server/model"
	"triton/server/repository"
)

var (
	casesFlag  = flag.Int("cases", 300, "how many mutated repositories are linted and served")
	pythonFlag = flag.Bool("python-models", false, "with models in Python among them")
	onlyFlag   = flag.Bool("only-python-models", false, "without other models")
	seedFlag   = flag.Uint64("seed", 1, "the seed of the first of them")
)

// serve loads a repository with this server. It returns the reason for each model that is not
// ready; a model that is ready has none.
func serve(ctx context.Context, t testing.TB, backends backend.Set, dir string) map[string]string {
	t.Helper()
	return serveLog(ctx, t, backends, dir, slog.New(slog.DiscardHandler))
}

func serveLog(ctx context.Context, t testing.TB, backends backend.Set, dir string, log *slog.Logger) map[string]string {
	t.Helper()
	pool := tensor.NewPool()
	r := repository.New(repository.Options{
		Options: model.Options{
			Backends: backends, AutoComplete: true, CPUs: runtime.NumCPU(), Pool: pool, Log: log,
			BackendSettings: map[string]map[string]string{"python": {"python-executable": interpreter()}},
		},
		Paths: []string{dir}, LoadThreads: 4, ID: "triton", Version: "1",
	})
	if err := r.Start(ctx); err != nil {
		require.ErrorIs(t, err, repository.ErrLoad)
	}
	outcome := map[string]string{}
	for _, m := range r.Index(false).GetModels() {
		if m.GetState() == "READY" {
			outcome[m.GetName()] = ""
		} else if _, ok := outcome[m.GetName()]; !ok && m.GetState() != "" {
			outcome[m.GetName()] = m.GetState() + ": " + m.GetReason()
		}
	}
	for _, s := range r.Status() { // an ensemble that does not fit its models has no state in the index
		if _, ok := outcome[s.ID.Name]; !ok {
			outcome[s.ID.Name] = s.Reason
		}
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if _, ok := outcome[e.Name()]; !ok && e.IsDir() {
			outcome[e.Name()] = "it is in neither the index nor the status"
		}
	}
	require.NoError(t, r.Drain(ctx))
	require.Zero(t, pool.Outstanding())
	return outcome
}

// interpreter returns a Python with numpy: that of .venv, else python3.
func interpreter() string {
	if path, err := filepath.Abs("../../.venv/bin/python"); err == nil {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return "python3"
}

// servable returns the backends of this program, without ONNX Runtime where its library is missing.
func servable(t testing.TB) backend.Set {
	t.Helper()
	search := onnx.Search{Getenv: os.Getenv, Directory: "../.."}
	if _, err := onnx.Find(search); err != nil {
		t.Skip(err)
	}
	return server.NewBackends(search)
}

// verdict returns the first error of each model.
func verdict(t testing.TB, dir string, o lint.Options) map[string]string {
	t.Helper()
	models, err := repo.Open(dir)
	if errors.Is(err, repo.ErrNoModel) {
		return nil
	}
	require.NoError(t, err)
	found := map[string]string{}
	for _, m := range models {
		found[m.Name] = ""
	}
	for _, f := range lint.Check(models, o) {
		if f.Severity == repo.Error && found[f.Model] == "" {
			found[f.Model] = f.Rule + " " + f.Msg
		}
	}
	return found
}

// serverOptions describe the server of the tests: this program, without GPUs.
var serverOptions = lint.Options{DefaultMaxBatch: 4, Python: "python3", Machine: &modelconfig.Machine{}}

// confusion counts the verdicts about models.
type confusion struct{ bothGood, bothBad, falseGood, falseBad int }

// TestServe lints mutated repositories and serves them. The verdicts must agree: the linter
// reports an error about a model if and only if the server does not load it.
func TestServe(t *testing.T) {
	t.Parallel()
	backends := servable(t)
	g, err := linttest.New(t.Context(), *pythonFlag, *onlyFlag)
	require.NoError(t, err)
	var total confusion
	for _, c := range g.Bases() {
		compare(t, backends, c, &total)
	}
	require.Zero(t, total.bothBad, "the repositories load before they are changed")
	for i := range *casesFlag {
		compare(t, backends, g.Case(*seedFlag+uint64(i)), &total)
	}
	t.Logf("this server: %s", total)
}

// compare lints and serves one repository.
func compare(t testing.TB, backends backend.Set, c linttest.Case, total *confusion) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, c.Files.Write(dir))
	linted := verdict(t, dir, serverOptions)
	served := serve(t.Context(), t, backends, dir)
	for name, why := range served {
		if text := total.add(linted[name], why); text != "" {
			t.Errorf("%s\n  model %s: %s", c, name, text)
		}
	}
}
