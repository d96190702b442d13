package repository

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/infer"
)

// snake is a backend in place of models in Python: every output is the first input.
var snake = backendtest.Loading(func(s backend.Spec) error {
	if s.Config.GetParameters()["fail_load"] != nil {
		return status.New(status.Internal, "no luck")
	}
	return nil
})

// TestEnsembles loads and unloads models that ensembles connect, and compares with the answers
// of NVIDIA's server.
//
//	restart [NAME...]      with the models of the start
//	load NAME [differs]    the input is a configuration in its place
//	unload NAME [dependents]
//	index [differs] | infer NAME | ready NAME
//	ours                   our answer when it differs
func TestEnsembles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	archive, err := txtar.ParseFile("testdata/ensemble.txtar")
	require.NoError(t, err)
	for _, f := range archive.Files {
		path := filepath.Join(dir, f.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, f.Data, 0o644))
	}
	datadriven.Walk(t, "testdata/ensemble", func(t *testing.T, path string) {
		var r *Repository
		var ours string
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "restart":
				r = begun(t, dir, d.CmdArgs)
				return "ok\n"
			case "ours":
				return ours
			}
			ours = command(t, r, d)
			if d.HasArg("differs") {
				require.NotEqual(t, d.Expected, ours, "it does not differ any more")
				return d.Expected
			}
			return ours
		})
	})
}

func begun(t *testing.T, dir string, names []datadriven.CmdArg) *Repository {
	r, _, err := open(t, func(o *Options) {
		o.Control, o.Backends = ControlExplicit, backend.Set{"python": snake}
		for _, n := range names {
			o.Startup = append(o.Startup, n.Key)
		}
	}, dir)
	require.NoError(t, err)
	return r
}

func command(t *testing.T, r *Repository, d *datadriven.TestData) string {
	name := ""
	if len(d.CmdArgs) > 0 {
		name = d.CmdArgs[0].Key
	}
	switch d.Cmd {
	case "load":
		var o infer.LoadOptions
		if d.Input != "" {
			o.Config = &d.Input
		}
		text := errorText(r.Load(t.Context(), name, o))
		if short, _, cut := strings.Cut(text, "failed to poll from model repository: "); cut {
			return short + "failed to poll from model repository\n" // NVIDIA's server does not give the cause
		}
		return text
	case "unload":
		return errorText(r.Unload(t.Context(), name, d.HasArg("dependents")))
	case "index":
		return listed(t, r)
	case "infer":
		return errorText(ask(t, r, name))
	case "ready":
		if ok, err := r.ModelReady(name, ""); ok && err == nil {
			return "yes\n"
		}
		return "no\n"
	}
	d.Fatalf(t, "unknown command %s", d.Cmd)
	return ""
}

func errorText(err error) string {
	if err == nil {
		return "ok\n"
	}
	return fmt.Sprintf("%d %s\n", status.CodeOf(err).HTTP(), strings.TrimRight(err.Error(), "\n"))
}

// listed returns the index once no version is loading or unloading.
func listed(t *testing.T, r *Repository) string {
	finished := func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.retiring) == 0
	}
	require.Eventually(t, finished, time.Minute, time.Millisecond)
	var all strings.Builder
	for _, m := range r.Index(false).Models {
		if m.State != "" {
			fmt.Fprintln(&all, strings.TrimSpace(strings.Join([]string{m.Name, m.Version, m.State, m.Reason}, " ")))
		}
	}
	return all.String()
}

func ask(t *testing.T, r *Repository, name string) error {
	return askWith(t, infer.NewRequest(), r, name)
}

// askInside is ask inside a testing/synctest bubble.
func askInside(t *testing.T, r *Repository, name string) error {
	return askWith(t, infer.NewUnpooled(), r, name)
}

func askWith(t *testing.T, q *infer.Request, r *Repository, name string) error {
	defer q.Release()
	m, err := r.Model(name, "")
	if err != nil {
		return err
	}
	defer m.Release()
	in := q.AddInput()
	in.Name, in.DataType, in.Shape = "IN", tensor.Int32, tensor.Shape{2}
	in.Data = tensor.NewData(tensor.HeapBuffer(make([]byte, 8)))
	resp, err := m.Infer(t.Context(), q)
	if err == nil {
		resp.Release()
	}
	return err
}

// TestIndexUnfit: the index has the name of an ensemble that does not fit its steps, as that of
// NVIDIA's server.
func TestIndexUnfit(t *testing.T) {
	t.Parallel()
	ensemble := func(step string) string {
		return `platform: "ensemble" ` + strings.Replace(identity, `backend: "identity"`, "", 1) +
			`ensemble_scheduling { step { model_name: "` + step + `" model_version: -1 input_map { key: "INPUT0" value: "INPUT0" } output_map { key: "OUTPUT0" value: "OUTPUT0" } } }`
	}
	dir := tree(t, map[string]string{
		"a/config.pbtxt": identity, "a/1/": "",
		"fits/config.pbtxt": ensemble("a"), "fits/1/": "",
		"lost/config.pbtxt": ensemble("none"), "lost/1/": "",
	})
	r, _, err := open(t, nil, dir)
	require.ErrorIs(t, err, ErrLoad)
	index := r.Index(false).Models
	require.Len(t, index, 3)
	require.Equal(t, "READY", index[1].State, index[1].Reason)
	require.Equal(t, "lost", index[2].Name)
	require.Empty(t, index[2].Version+index[2].State+index[2].Reason)
	require.Len(t, r.Index(true).Models, 2)
}
