package repository

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/backend/builtin"
	"triton/server/repository/state"
	"triton/server/store"
)

// wrong makes a repository of models that fail in every way, and of models that work.
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
		"instfail/config.pbtxt": strings.Replace(identity, "identity", "fault", 1) + `parameters { key: "instance_error" value { string_value: "no slot" } }`,
		"instfail/1/":           "",
		"sequence/config.pbtxt": identity + "sequence_batching { }",
		"sequence/1/":           "",
		"a file":                "",
	})
}

func TestLoadWithBadModels(t *testing.T) {
	t.Parallel()
	dir := wrong(t)
	r, out, err := open(t, nil, dir)
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
		"badname||UNAVAILABLE|Invalid argument: unexpected directory name 'badname' for model 'other', directory name must equal model name",
		"badparse||UNAVAILABLE|Internal: failed to read text proto from " + dir + "/badparse/config.pbtxt: " + dir + "/badparse/config.pbtxt:2:8: Expected \"{\", found \"\"; write input { ... }",
		"empty||UNAVAILABLE|Invalid argument: Invalid model name: Could not determine backend for model 'empty' with no backend in model configuration. Expected model name of the form 'model.<backend_name>'.",
		"good|3|READY",
		"instfail|1|UNAVAILABLE|Internal: no slot",
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

func TestPanicsWhileLoading(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"a/config.pbtxt": strings.Replace(identity, "identity", "odd", 1), "a/1/": "",
		"b/config.pbtxt": strings.Replace(identity, "identity", "odder", 1), "b/1/": "",
		"c/config.pbtxt": identity, "c/1/": "",
	})
	r, _, err := open(t, func(o *Options) {
		o.Backends["odd"] = backendtest.Loading(func(backend.Spec) error { panic("out of luck") })
		o.Backends["odder"] = backendtest.Func(func(context.Context, backend.Spec) (backend.Model, error) {
			return &backendtest.Model{Make: func(int, backend.Placement) error { panic("out of memory") }}, nil
		})
	}, dir)
	require.ErrorIs(t, err, ErrLoad)
	index := r.Index(false).Models
	require.Equal(t, "Internal: the backend of model 'a' panicked while loading: out of luck", index[0].Reason)
	require.Contains(t, index[1].Reason, "out of memory")
	require.Equal(t, "READY", index[2].State)
}

// TestOneBadVersion: a model serves all its versions or none.
func TestOneBadVersion(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"m/config.pbtxt": strings.Replace(identity, "identity", "odd", 1) + "version_policy { all { } }", "m/1/": "", "m/2/": "",
	})
	r, out, err := open(t, func(o *Options) {
		o.Backends["odd"] = backendtest.Loading(func(s backend.Spec) error {
			if s.Version == 2 {
				return errors.New("broken file")
			}
			return nil
		})
	}, dir)
	require.ErrorIs(t, err, ErrLoad)
	waitClosed(t, r)
	index := r.Index(false).Models
	require.Equal(t, "unloaded", index[0].Reason)
	require.Equal(t, "Internal: broken file", index[1].Reason)
	require.Contains(t, out.messages(), "successfully unloaded 'm' version 1")
}

// TestMissingLibrary: a start does not fail because the library of a backend is missing.
func TestMissingLibrary(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"m/config.pbtxt": strings.Replace(identity, "identity", "odd", 1), "m/1/": "",
		"n/config.pbtxt": identity, "n/1/": "",
	})
	r, _, err := open(t, func(o *Options) {
		o.Backends["odd"] = backendtest.Loading(func(backend.Spec) error {
			return &status.Error{Code: status.Unavailable, Msg: "no library", Cause: backend.ErrNoLibrary}
		})
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

// defaultBatch completes models that say nothing of their tensors.
type defaultBatch struct{ builtin.Identity }

func (defaultBatch) AutoComplete(_ context.Context, spec backend.Spec) error {
	shape := []int64{4}
	spec.Config.Input = []*inferencepb.ModelInput{{Name: "INPUT0", DataType: inferencepb.DataType_TYPE_INT32, Dims: shape}}
	spec.Config.Output = []*inferencepb.ModelOutput{{Name: "OUTPUT0", DataType: inferencepb.DataType_TYPE_INT32, Dims: shape}}
	spec.Config.MaxBatchSize = 4
	return nil
}

// TestPreferredOfDefaultMaximum: preferred batch sizes are compared with the maximum that the backend fills in.
func TestPreferredOfDefaultMaximum(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"fits/config.pbtxt": `backend: "batching" ` + "dynamic_batching { preferred_batch_size: [ 2, 4 ] }", "fits/1/": "",
		"larger/config.pbtxt": `backend: "batching" ` + "dynamic_batching { preferred_batch_size: [ 2, 8 ] }", "larger/1/": "",
	})
	r, _, err := open(t, func(o *Options) { o.Backends["batching"] = defaultBatch{} }, dir)
	require.ErrorIs(t, err, ErrLoad)
	m, err := r.Model("fits", "")
	require.NoError(t, err)
	defer m.Release()
	require.EqualValues(t, 4, m.Config().GetMaxBatchSize())
	index := r.Index(false).Models
	require.Equal(t, "Invalid argument: dynamic batching preferred size must be <= max batch size for larger", index[1].Reason)
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

// TestRefusedConfiguration: a model whose configuration is refused is in the table and in the
// index with the reason, until its configuration is corrected or its folder is removed.
func TestRefusedConfiguration(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"m/config.pbtxt": identity + "max_batch_size: 4 dynamic_batching { preferred_batch_size: [ 8 ] }", "m/1/": "",
		"n/config.pbtxt": identity, "n/1/": "",
	})
	r, _, err := open(t, func(o *Options) { o.Control = ControlPoll }, dir)
	require.ErrorIs(t, err, ErrLoad)
	const reason = "Invalid argument: dynamic batching preferred size must be <= max batch size for m"
	status := r.Status()
	require.Len(t, status, 2)
	require.Equal(t, state.Status{ID: store.ID{Name: "m"}, Reason: "Not loaded: " + reason}, status[0])
	require.True(t, status[1].Ready)
	index := r.Index(false).Models
	require.Equal(t, "m||UNAVAILABLE|"+reason, strings.Join([]string{index[0].Name, index[0].Version, index[0].State, index[0].Reason}, "|"))
	require.Len(t, r.Index(true).Models, 1)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "m", "config.pbtxt"), []byte(identity), 0o600))
	require.NoError(t, r.Poll(t.Context()))
	require.True(t, r.Status()[0].Ready)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m", "config.pbtxt"), []byte("x"), 0o600))
	require.NoError(t, r.Poll(t.Context()))
	require.Equal(t, "READY", r.Index(false).Models[0].State, "the version goes on with the old configuration")
}
