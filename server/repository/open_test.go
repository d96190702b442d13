package repository

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/log"
	"triton/pkg/sharedtest"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/builtin"
	"triton/server/infer"
	"triton/server/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const identity = `backend: "identity"
input { name: "INPUT0" data_type: TYPE_INT32 dims: [ 4 ] }
output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 4 ] }
`

// tree writes files below a folder; a name that ends in "/" is a folder.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			require.NoError(t, os.MkdirAll(path, 0o755))
			continue
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

// lines collects the log.
type lines struct{ sharedtest.LogBuffer }

var source = regexp.MustCompile(`(?m)^([IWE]).*?\] (.*)$`)

// messages is the log without times and places.
func (l *lines) messages() string {
	return source.ReplaceAllString(l.String(), "$1 $2")
}

// open makes a repository over paths, and closes it at the test's end.
func open(t testing.TB, change func(*Options), paths ...string) (*Repository, *lines, error) {
	t.Helper()
	out := &lines{}
	sink, err := log.Open(log.DefaultSettings(), out, out)
	require.NoError(t, err)
	o := Options{
		Options: model.Options{
			Backends:     backend.Set{"identity": builtin.Identity{}, "fault": builtin.Fault{}},
			AutoComplete: true, CPUs: 1, Pool: tensor.NewPool(), Log: sink.Logger(),
		},
		Paths: paths, LoadThreads: 2, StrictReadiness: true, ID: "triton", Version: "1",
	}
	if change != nil {
		change(&o)
	}
	r := New(o)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, r.Drain(ctx))
		require.Zero(t, o.Pool.Outstanding())
	})
	return r, out, r.Start(t.Context())
}

func inferOnce(t *testing.T, m infer.Model) (*infer.Response, error) {
	t.Helper()
	r := infer.NewRequest()
	defer r.Release()
	x := r.AddInput()
	x.Name, x.DataType, x.Shape = "INPUT0", tensor.Int32, append(x.Shape, 4)
	x.Data = tensor.NewData(tensor.HeapBuffer(make([]byte, 16)))
	return m.Infer(t.Context(), r)
}
