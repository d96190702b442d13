package repository

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/infer"
)

// waitClosed waits until all versions out of service are closed.
func waitClosed(t *testing.T, r *Repository) {
	t.Helper()
	require.Eventually(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.retiring) == 0
	}, time.Minute, time.Millisecond)
}

// python is a backend in place of Triton's and the model.py that the answers were
// recorded with: identity that fails on demand.
var python = backendtest.Loading(func(s backend.Spec) error {
	if why := s.Config.GetParameters()["load_error"].GetStringValue(); why != "" {
		number, text, found := strings.Cut(why, ":")
		if !found {
			text = why
		}
		if !found || number == fmt.Sprint(s.Version) {
			return status.New(status.Internal, "TritonModelException: %s", text)
		}
	}
	text, err := os.ReadFile(filepath.Join(s.Dir, "model.py"))
	if string(text) == "x" {
		return status.New(status.Internal, "NameError: name 'x' is not defined")
	}
	return err
})

const pythonConfig = `backend: "python"
input { name: "INPUT0" data_type: TYPE_INT32 dims: [ 4 ] }
output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 4 ] }
`

// TestControl compares with the recorded answers of Triton's server 2.51. The answer of a
// command with "differs" is intended to be another; docs/compatibility-details.md has the reason.
func TestControl(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/control", func(t *testing.T, path string) {
		t.Parallel()
		s := &harness{t: t, dir: t.TempDir()}
		defer func() {
			s.t = t
			s.stop()
		}()
		s.reset()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.t = t
			return s.run(d)
		})
	})
}

func (s *harness) run(d *datadriven.TestData) string {
	arg := func(i int) string {
		if i >= len(d.CmdArgs) || d.CmdArgs[i].Key == "differs" || len(d.CmdArgs[i].Vals) > 0 {
			return ""
		}
		return d.CmdArgs[i].Key
	}
	input := d.Input
	if input != "" {
		input += "\n"
	}
	switch d.Cmd {
	case "reset":
		s.reset()
	case "model":
		s.write(arg(0)+"/config.pbtxt", pythonConfig+input)
		versions := []string{"1"}
		for _, a := range d.CmdArgs[1:] {
			versions = strings.Split(strings.Join(a.Vals, ","), ",")
		}
		for _, v := range versions {
			if v != "" {
				s.write(arg(0)+"/"+v+"/model.py", "model")
			}
		}
	case "write":
		s.write(arg(0), input)
	case "config":
		s.write(arg(0), pythonConfig+input)
	case "version":
		s.write(arg(0)+"/model.py", "model")
	case "mkdir":
		require.NoError(s.t, os.MkdirAll(s.path(arg(0)), 0o755))
	case "rm":
		require.NoError(s.t, os.RemoveAll(s.path(arg(0))))
	case "touch":
		require.NoError(s.t, os.Chtimes(s.path(arg(0)), time.Time{}, time.Now()))
	case "settle", "sleep":
		waitClosed(s.t, s.repo)
	case "poll":
		require.NoError(s.t, s.repo.Poll(s.t.Context()))
	case "start":
		return s.start(d)
	case "log":
		return s.log()
	case "http":
		return d.Expected // the answer of the frontend
	default:
		return s.clean(s.ask(d, arg))
	}
	return ""
}

// ask calls the repository and returns the answer in the form of HTTP.
func (s *harness) ask(d *datadriven.TestData, arg func(int) string) string {
	ctx, r := s.t.Context(), s.repo
	switch d.Cmd {
	case "load":
		o, ok := loadOptions(d.Input)
		if !ok {
			return d.Expected
		}
		return answer("", r.Load(ctx, arg(0), o))
	case "unload":
		return answer("", r.Unload(ctx, arg(0), false))
	case "index": // as it was recorded: nothing is being unloaded
		waitClosed(s.t, r)
		var rows []string
		for _, m := range r.Index(arg(0) == "ready").Models {
			rows = append(rows, strings.TrimRight(strings.Join([]string{m.Name, m.Version, m.State, m.Reason}, "|"), "|"))
		}
		return answer(strings.Join(rows, "\n"), nil)
	case "ready":
		good := r.Ready()
		if arg(0) != "" {
			var err error
			if good, err = r.ModelReady(arg(0), arg(1)); err != nil {
				return answer("", err)
			}
		}
		switch {
		case good:
			return "200"
		case arg(0) == "":
			return "400"
		}
		return `400 {"error":"Model version not ready"}`
	case "stats":
		all, err := r.Statistics(arg(0), "")
		var rows []string
		for _, m := range all.GetModelStats() {
			rows = append(rows, fmt.Sprintf("%s:%s:%d", m.Name, m.Version, m.InferenceCount))
		}
		return answer(strings.Join(rows, " "), err)
	}
	m, err := r.Model(arg(0), arg(1))
	if err != nil {
		return answer("", err)
	}
	defer m.Release()
	switch d.Cmd {
	case "metadata":
		return answer(strings.Join(m.Metadata().Versions, " "), nil)
	case "infer":
		resp, err := inferOnce(s.t, m)
		if err != nil {
			return answer("", err)
		}
		defer resp.Release()
		return answer(resp.ModelVersion, nil)
	case "config?":
		text, err := modelconfig.MarshalJSON(m.Config())
		require.NoError(s.t, err)
		return answer(choose(s.t, text, d), nil)
	}
	d.Fatalf(s.t, "unknown command %s", d.Cmd)
	return ""
}

// choose is some fields of a configuration.
func choose(t *testing.T, text []byte, d *datadriven.TestData) string {
	fields := []string{"instance_group", "version_policy", "max_batch_size"}
	for _, a := range d.CmdArgs {
		if a.Key == "fields" {
			fields = strings.Split(strings.Join(a.Vals, ","), ",")
		}
	}
	var all map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(text, &all))
	out := make([]string, 0, len(fields))
	for _, f := range fields {
		out = append(out, fmt.Sprintf("%q:%s", f, all[f]))
	}
	return "{" + strings.Join(out, ",") + "}"
}

func answer(text string, err error) string {
	if err != nil {
		e := status.From(err)
		return fmt.Sprintf("%d %s", e.Code.HTTP(), strings.TrimSpace(e.Msg))
	}
	return strings.TrimSpace("200 " + text)
}

// loadOptions reads "name value" lines, or JSON. It returns false if the frontend would refuse
// them.
func loadOptions(input string) (o infer.LoadOptions, ok bool) {
	if strings.HasPrefix(input, `{"p`) {
		var body struct{ Parameters map[string]string }
		if json.Unmarshal([]byte(input), &body) != nil || body.Parameters["config"] == "" || len(body.Parameters) > 1 {
			return o, false
		}
		text := body.Parameters["config"]
		return infer.LoadOptions{Config: &text}, true
	}
	for line := range strings.SplitSeq(input, "\n") {
		name, value, _ := strings.Cut(line, " ")
		switch {
		case name == "":
		case name == "config":
			o.Config = &value
		case strings.HasPrefix(name, "file:"):
			if o.Files == nil {
				o.Files = map[string][]byte{}
			}
			o.Files[name] = []byte(value)
		default:
			return o, false
		}
	}
	return o, true
}
