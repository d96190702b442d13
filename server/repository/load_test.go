package repository

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/invariant"
	"triton/pkg/log"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/builtin"
	"triton/server/infer"
	"triton/server/model"
	"triton/server/repository/actual"
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
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

var source = regexp.MustCompile(`(?m)^([IWE]).*?\] (.*)$`)

// messages is the log without times and places.
func (l *lines) messages() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return source.ReplaceAllString(l.buf.String(), "$1 $2")
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
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, r.Drain(ctx))
		require.Zero(t, o.Pool.Outstanding())
	})
	return r, out, r.Start(t.Context())
}

// wrong is a repository with every way to fail, beside models that work.
func wrong(t *testing.T) string {
	return tree(t, map[string]string{
		"good/config.pbtxt":     identity,
		"good/1/":               "",
		"good/3/":               "",
		"good/02/":              "",
		"good/abc/":             "",
		"all/config.pbtxt":      identity + "version_policy { all { } }",
		"all/1/":                "",
		"all/3/":                "",
		"bad/config.pbtxt":      strings.Replace(identity, "identity", "nosuch", 1),
		"bad/1/":                "",
		"badname/config.pbtxt":  identity + `name: "other"`,
		"badname/1/":            "",
		"badparse/config.pbtxt": "backend: \"identity\"\ninput [",
		"badparse/1/":           "",
		"empty/":                "",
		"nover/config.pbtxt":    identity,
		"nover/x/":              "",
		"loadfail/config.pbtxt": strings.Replace(identity, "identity", "fault", 1) + `parameters { key: "load_error" value { string_value: "no luck" } }`,
		"loadfail/1/":           "",
		"instfail/config.pbtxt": strings.Replace(identity, "identity", "fault", 1) + `parameters { key: "instance_error" value { string_value: "no seat" } }`,
		"instfail/1/":           "",
		"sequence/config.pbtxt": identity + "sequence_batching { }",
		"sequence/1/":           "",
		"a file":                "",
	})
}

func TestLoadWithBadModels(t *testing.T) {
	t.Parallel()
	r, out, err := open(t, nil, wrong(t))
	require.ErrorIs(t, err, ErrLoad)
	require.EqualError(t, err, "failed to load all models")
	require.True(t, r.Live())
	require.False(t, r.Ready(), "strict readiness wants every model")

	var index []string
	for _, m := range r.Index(false).Models {
		index = append(index, strings.TrimRight(strings.Join([]string{m.Name, m.Version, m.State, m.Reason}, "|"), "|"))
	}
	require.Equal(t, []string{
		"all|1|READY", "all|3|READY",
		"bad|1|UNAVAILABLE|Invalid argument: unable to find backend library for backend 'nosuch', try specifying runtime on the model configuration.",
		"badname", "badparse", "empty",
		"good|3|READY",
		"instfail|1|UNAVAILABLE|Internal: no seat",
		"loadfail|1|UNAVAILABLE|Internal: no luck",
		"sequence|1|READY",
	}, index)
	for _, m := range r.Index(true).Models {
		require.Equal(t, "READY", m.State)
	}
	text := out.messages()
	for _, want := range []string{
		`I "loading: good:3"`, `I "successfully loaded 'good'"`, `I "failed to load 'bad'"`,
		`E "Poll failed for model directory 'badname': unexpected directory name 'badname' for model 'other', directory name must equal model name`,
		`E "Poll failed for model directory 'badparse': failed to read text proto from `,
		`badparse/config.pbtxt:2:`,
		`E "Poll failed for model directory 'empty': Invalid model name: Could not determine backend for model 'empty' with no backend in model configuration. Expected model name of the form 'model.<backend_name>'.`,
		`W "ignore version directory 'x' which fails to convert to integral number"`,
		`W "ignore version directory '02' which contains leading zeros in its directory name"`,
		`E "failed to load model 'nover': at least one version must be available under the version policy of model 'nover'"`,
		`E "failed to load 'bad' version 1: Invalid argument: unable to find backend library for backend 'nosuch'`,
	} {
		require.Contains(t, text, want)
	}
}

// TestLookup compares with what Triton's server 2.51 answers.
func TestLookup(t *testing.T) {
	t.Parallel()
	r, _, err := open(t, nil, wrong(t))
	require.ErrorIs(t, err, ErrLoad)
	const notFound, unavailable, invalid = status.NotFound, status.Unavailable, status.InvalidArg
	for _, c := range []struct {
		model, version string
		code           status.Code
		want           string
	}{
		{"nosuch", "", notFound, "Request for unknown model: 'nosuch' is not found"},
		{"nosuch", "1", notFound, "Request for unknown model: 'nosuch' is not found"},
		{"nosuch", "x", invalid, "failed to get model version from specified version string 'x' (details: stol), version should be an integral value > 0"},
		{"badparse", "", notFound, "Request for unknown model: 'badparse' is not found"},
		{"empty", "1", notFound, "Request for unknown model: 'empty' is not found"},
		{"nover", "", notFound, "Request for unknown model: 'nover' has no available versions"},
		{"nover", "1", notFound, "Request for unknown model: 'nover' version 1 is not found"},
		{"bad", "", notFound, "Request for unknown model: 'bad' has no available versions"},
		{"bad", "1", unavailable, "Request for unknown model: 'bad' version 1 is not at ready state"},
		{"bad", "7", notFound, "Request for unknown model: 'bad' version 7 is not found"},
		{"good", "7", notFound, "Request for unknown model: 'good' version 7 is not found"},
		{"good", "0", notFound, "Request for unknown model: 'good' version 0 is not found"},
		{"good", "-1", invalid, "invalid model version specified '-1' , version should be an integral value > 0"},
		{"good", "99999999999999999999", invalid, "failed to get model version from specified version string '99999999999999999999' (details: stol), version should be an integral value > 0"},
	} {
		_, err := r.Model(c.model, c.version)
		require.EqualError(t, err, c.want)
		require.Equal(t, c.code, status.CodeOf(err), c.want)
		ready, err := r.ModelReady(c.model, c.version)
		require.False(t, ready)
		require.Equal(t, c.code == invalid, err != nil, "a model that is not there is not ready, and that is no error")
	}
	for _, version := range []string{"", "3", " 3", "+3", "03", "3x"} {
		m, err := r.Model("good", version)
		require.NoError(t, err, version)
		require.Equal(t, "3", m.Version())
		m.Release()
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	r, _, _ := open(t, nil, wrong(t))
	m, err := r.Model("all", "")
	require.NoError(t, err)
	require.Equal(t, []string{"1", "3"}, m.Metadata().Versions)
	require.Equal(t, "identity", m.Metadata().Platform)
	require.Equal(t, "3", m.Version())
	m.Release()
	m, err = r.Model("all", "1")
	require.NoError(t, err)
	require.Equal(t, []string{"1"}, m.Metadata().Versions)
	m.Release()

	_, err = r.Statistics("nosuch", "")
	require.EqualError(t, err, "requested model 'nosuch' is not available")
	_, err = r.Statistics("bad", "1")
	require.EqualError(t, err, "requested model 'bad' is not available")
	_, err = r.Statistics("good", "7")
	require.EqualError(t, err, "requested model version is not available for model 'good'")
	all, err := r.Statistics("", "")
	require.NoError(t, err)
	require.Len(t, all.ModelStats, 4)
}

func TestDuplicateModel(t *testing.T) {
	t.Parallel()
	one := tree(t, map[string]string{"m/config.pbtxt": identity, "m/1/": "", "n/config.pbtxt": identity, "n/1/": ""})
	two := tree(t, map[string]string{"m/config.pbtxt": identity, "m/1/": ""})
	r, out, err := open(t, nil, one, two, one)
	require.ErrorIs(t, err, ErrLoad)
	require.Contains(t, out.messages(), "failed to poll model 'm': not unique across all model repositories")
	index := r.Index(true).Models
	require.Len(t, index, 2)
	require.Equal(t, "model appears in two or more repositories", index[0].Reason)
	require.Equal(t, "n", index[1].Name)
}

func TestRepositoryPath(t *testing.T) {
	t.Parallel()
	file := filepath.Join(tree(t, map[string]string{"f": ""}), "f")
	_, _, err := open(t, nil, file)
	require.EqualError(t, err, "repository path is not a valid directory")
	_, _, err = open(t, nil, "/no/such/folder")
	require.EqualError(t, err, "failed to stat file /no/such/folder")
	r, _, err := open(t, nil)
	require.EqualError(t, err, "--model-repository must be specified")
	require.False(t, r.Live())
}

// oddEngine does in its hooks what an engine may do wrong.
type oddEngine struct {
	load, instance func(spec backend.Spec) error
}

type oddModel struct {
	oddEngine
	spec backend.Spec
	backend.Model
}

func (e oddEngine) Load(ctx context.Context, s backend.Spec) (backend.Model, error) {
	if e.load != nil {
		if err := e.load(s); err != nil {
			return nil, err
		}
	}
	m, err := builtin.Identity{}.Load(ctx, s)
	return &oddModel{e, s, m}, err
}

func (m *oddModel) NewInstance(ctx context.Context, at backend.Placement) (backend.Instance, error) {
	if m.instance != nil {
		if err := m.instance(m.spec); err != nil {
			return nil, err
		}
	}
	return m.Model.NewInstance(ctx, at)
}

func TestPanicsWhileLoading(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"a/config.pbtxt": strings.Replace(identity, "identity", "odd", 1), "a/1/": "",
		"b/config.pbtxt": strings.Replace(identity, "identity", "odder", 1), "b/1/": "",
		"c/config.pbtxt": identity, "c/1/": "",
	})
	r, _, err := open(t, func(o *Options) {
		o.Backends["odd"] = oddEngine{load: func(backend.Spec) error { panic("out of luck") }}
		o.Backends["odder"] = oddEngine{instance: func(backend.Spec) error { panic("out of seats") }}
	}, dir)
	require.ErrorIs(t, err, ErrLoad)
	index := r.Index(false).Models
	require.Equal(t, "Internal: the backend of model 'a' panicked while loading: out of luck", index[0].Reason)
	require.Contains(t, index[1].Reason, "out of seats")
	require.Equal(t, "READY", index[2].State)
}

// TestOneBadVersion: a model serves all its versions or none.
func TestOneBadVersion(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"m/config.pbtxt": strings.Replace(identity, "identity", "odd", 1) + "version_policy { all { } }", "m/1/": "", "m/2/": "",
	})
	r, out, err := open(t, func(o *Options) {
		o.Backends["odd"] = oddEngine{load: func(s backend.Spec) error {
			if s.Version == 2 {
				return errors.New("broken file")
			}
			return nil
		}}
	}, dir)
	require.ErrorIs(t, err, ErrLoad)
	settle(t, r)
	index := r.Index(false).Models
	require.Equal(t, "unloaded", index[0].Reason)
	require.Equal(t, "Internal: broken file", index[1].Reason)
	require.Contains(t, out.messages(), "successfully unloaded 'm' version 1")
}

// TestMissingEngine: that an engine's library is not there is no failed start.
func TestMissingEngine(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"m/config.pbtxt": strings.Replace(identity, "identity", "odd", 1), "m/1/": "",
		"n/config.pbtxt": identity, "n/1/": "",
	})
	r, _, err := open(t, func(o *Options) {
		o.Backends["odd"] = oddEngine{load: func(backend.Spec) error {
			return &status.Error{Code: status.Unavailable, Msg: "no library", Cause: backend.ErrNoEngine}
		}}
	}, dir)
	require.NoError(t, err)
	require.Equal(t, "Unavailable: no library", r.Index(false).Models[0].Reason)
	require.False(t, r.Ready())
}

func TestWithoutAutoComplete(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"m.identity/1/": "", "n/config.pbtxt": `backend: "identity"`, "n/1/": ""})
	_, out, err := open(t, func(o *Options) { o.AutoComplete = false }, dir)
	require.ErrorIs(t, err, ErrLoad)
	require.Contains(t, out.messages(), "Poll failed for model directory 'm.identity': failed to open text file for read ")
	require.Contains(t, out.messages(), "config.pbtxt: No such file or directory")
}

func TestLabels(t *testing.T) {
	t.Parallel()
	withLabels := func(file string) string {
		return strings.Replace(identity, `name: "OUTPUT0"`, `name: "OUTPUT0" label_filename: "`+file+`"`, 1)
	}
	dir := tree(t, map[string]string{
		"a/config.pbtxt": withLabels("names.txt"), "a/1/": "", "a/names.txt": "cat\ndog\r\nbird\n",
		"b/config.pbtxt": withLabels("../a/names.txt"), "b/1/": "",
		"c/config.pbtxt": withLabels("none.txt"), "c/1/": "",
	})
	r, _, err := open(t, nil, dir)
	require.ErrorIs(t, err, ErrLoad)
	m, err := r.Model("a", "")
	require.NoError(t, err)
	defer m.Release()
	require.Equal(t, []string{"cat", "dog", "bird"}, m.Labels("OUTPUT0"))
	require.Nil(t, m.Labels("OUTPUT1"))
	index := r.Index(false).Models
	require.Regexp(t, `^Unsupported: label file path '.*' for output 'OUTPUT0' in model 'b' is outside model directory$`, index[1].Reason)
	require.Regexp(t, `^Internal: failed to open text file for read .*none\.txt: No such file or directory$`, index[2].Reason)
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

func TestInfer(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"m/config.pbtxt": identity, "m/1/": ""})
	r, _, err := open(t, nil, dir)
	require.NoError(t, err)
	require.True(t, r.Ready())
	m, err := r.Model("m", "")
	require.NoError(t, err)
	resp, err := inferOnce(t, m)
	require.NoError(t, err)
	require.Equal(t, "1", resp.ModelVersion)
	require.Equal(t, tensor.Shape{4}, resp.Outputs[0].Shape)
	resp.Release()

	// Once the server ends, whoever still holds the model is told so.
	r.Exit()
	require.False(t, r.Ready())
	require.True(t, r.Exiting())
	resp, err = inferOnce(t, m)
	require.NoError(t, err, "what was accepted is served until the models are closed")
	resp.Release()
	drained := make(chan error, 1)
	go func() { drained <- r.Drain(context.Background()) }()
	require.Eventually(t, m.(*actual.Newest).Closing, 5*time.Second, time.Millisecond)
	_, err = inferOnce(t, m)
	require.EqualError(t, err, "[request id: <id_unknown>] Server is stopping, scheduler for model has stopped accepting new inference requests")
	m.Release()
	require.NoError(t, <-drained)
	_, err = r.Model("m", "")
	require.Equal(t, status.Unavailable, status.CodeOf(err))
}

// TestInferAllocates counts what a request costs from the look-up to the answer,
// on the caller's own goroutine.
func TestInferAllocates(t *testing.T) {
	dir := tree(t, map[string]string{"m/config.pbtxt": identity, "m/1/": ""})
	r, _, err := open(t, nil, dir)
	require.NoError(t, err)
	data := tensor.HeapBuffer(make([]byte, 16))
	ctx := t.Context()
	n := testing.AllocsPerRun(1000, func() {
		m, err := r.Model("m", "")
		if err != nil {
			panic(err)
		}
		req := infer.NewRequest()
		x := req.AddInput()
		x.Name, x.DataType, x.Shape = "INPUT0", tensor.Int32, append(x.Shape, 4)
		x.Data = tensor.SliceData(data, 0, 16)
		resp, err := m.Infer(ctx, req)
		if err != nil {
			panic(err)
		}
		resp.Release()
		req.Release()
		m.Release()
	})
	if !invariant.Enabled {
		require.LessOrEqual(t, n, 0.5)
	}
}

// TestDrainTimesOut holds a model for longer than the drain may take.
func TestDrainTimesOut(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"m/config.pbtxt": identity, "m/1/": ""})
	r, out, err := open(t, nil, dir)
	require.NoError(t, err)
	m, err := r.Model("m", "")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	drained := make(chan error)
	go func() { drained <- r.Drain(ctx) }()
	for !strings.Contains(out.messages(), "Model 'm' (version 1) has 1 in-flight inferences") {
		time.Sleep(10 * time.Millisecond)
	}
	select {
	case err := <-drained:
		t.Fatal("the drain has not waited for the holder of the model", err)
	default:
	}
	cancel()
	require.Error(t, <-drained)
	m.Release()
}

// TestBrokenModel: a model whose instances have all broken down is not ready,
// though it still is in the index and says why it does not answer.
func TestBrokenModel(t *testing.T) {
	t.Parallel()
	broken := strings.Replace(identity, "identity", "fault", 1) + `parameters [
		{ key: "panic" value { string_value: "1" } }, { key: "restart_error" value { string_value: "no more" } } ]`
	r, _, err := open(t, nil, tree(t, map[string]string{"m/config.pbtxt": broken, "m/1/": ""}))
	require.NoError(t, err)
	ready, err := r.ModelReady("m", "")
	require.NoError(t, err)
	require.True(t, ready)
	require.True(t, r.Ready())
	for _, want := range []string{"broke down during execution", "no working instance left"} {
		m, err := r.Model("m", "")
		require.NoError(t, err)
		q := infer.NewRequest()
		in := q.AddInput()
		in.Name, in.DataType, in.Shape = "INPUT0", tensor.Int32, append(in.Shape, 4)
		in.Data = tensor.NewData(tensor.HeapBuffer(make([]byte, 16)))
		_, err = m.Infer(t.Context(), q)
		require.ErrorContains(t, err, want)
		q.Release()
		m.Release()
	}
	ready, err = r.ModelReady("m", "")
	require.NoError(t, err)
	require.False(t, ready)
	require.False(t, r.Ready())
}
