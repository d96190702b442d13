package trace

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/infer/infertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open starts a tracer with arguments of --trace-config; %f is the path of the trace file.
func open(t testing.TB, args ...string) (tr *Tracer, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "trace.json")
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "%f", file)
	}
	config, err := ParseConfig(args)
	require.NoError(t, err)
	tr, err = New(Options{Config: config})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tr.Shutdown(context.Background())) })
	return tr, file
}

// change changes settings; "none" makes a setting inherited.
func change(t testing.TB, tr *Tracer, model string, settings ...string) error {
	t.Helper()
	var c Change
	for _, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		var texts []string
		if value != "none" {
			texts = strings.Split(value, ",")
		}
		if err := c.Set(name, texts); err != nil {
			return err
		}
	}
	return tr.Update(model, c)
}

// mark records a timestamp of the frontend if t is not nil.
func mark(t *Trace, name string, at int64) {
	if t != nil {
		t.Observe(infer.Event{Kind: infer.EventTimestamp, Name: name, At: at})
	}
}

// sent ends the frontend's part if t is not nil.
func sent(t *Trace) {
	if t != nil {
		t.Observe(infer.Event{Kind: infer.EventSent})
	}
}

// serve plays the life of a request of one int32 tensor as the frontend and the core see it. It
// reports whether the request was traced.
func serve(tr *Tracer, model string) bool {
	t := tr.Sample(model, nil)
	mark(t, "HTTP_RECV_START", 1)
	mark(t, "HTTP_RECV_END", 2)
	r := infer.NewRequest()
	r.ModelName, r.ModelVersion, r.ID, r.Sink = model, "1", "r", infertest.Discard
	in := r.AddInput()
	in.Name, in.DataType, in.Shape = "IN", tensor.Int32, tensor.Shape{1}
	in.Data = tensor.NewData(tensor.HeapBuffer(binary.LittleEndian.AppendUint32(nil, 7)))
	if t != nil {
		r.Trace = t
		r.EmitReceived()
	}
	run(r)
	r.Release()
	now := infer.Now()
	mark(t, "INFER_RESPONSE_COMPLETE", now)
	mark(t, "HTTP_SEND_START", now)
	mark(t, "HTTP_SEND_END", now)
	sent(t)
	return t != nil
}

// run is an execution of a batch, after which the core is done with it.
func run(requests ...*infer.Request) {
	var b infer.Batch
	for _, r := range requests {
		now := infer.Now()
		r.Times.Queued, r.Times.ComputeStart, r.Times.InputEnd, r.Times.OutputStart, r.Times.ComputeEnd = now, now, now, now, now
		b.Add(r)
		resp := infer.NewResponse()
		resp.Add("OUT", tensor.Int32, tensor.Shape{1}, r.Inputs[0].Data.Clone())
		r.Respond(resp, true)
	}
	for _, r := range requests {
		if r.Trace != nil {
			r.Trace.Observe(infer.Event{Kind: infer.EventExecuted, Batch: &b})
			break
		}
	}
	for _, r := range requests {
		r.Release()
	}
}

// entry is an element of a trace file.
type entry struct {
	ID           uint64 `json:"id"`
	ModelName    string `json:"model_name"`
	ModelVersion int    `json:"model_version"`
	RequestID    string `json:"request_id"`
	ParentID     uint64 `json:"parent_id"`
	Timestamps   []struct {
		Name string `json:"name"`
		NS   int64  `json:"ns"`
	} `json:"timestamps"`
	Activity string `json:"activity"`
	Tensor   *struct {
		Name  string `json:"name"`
		Data  string `json:"data"`
		Shape string `json:"shape"`
		Type  string `json:"dtype"`
	} `json:"tensor"`
}

func read(t testing.TB, file string) []entry {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var all []entry
	require.NoError(t, json.Unmarshal(text, &all), "%s", text)
	return all
}

// ids are those of the traces in a file, in order.
func ids(t testing.TB, file string) []uint64 {
	t.Helper()
	var all []uint64
	for _, e := range read(t, file) {
		if len(all) == 0 || all[len(all)-1] != e.ID {
			all = append(all, e.ID)
		}
	}
	return all
}

// files are the names in the directory of a trace file.
func files(t testing.TB, file string) []string {
	t.Helper()
	list, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}
