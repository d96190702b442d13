package builtin_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/builtin"
	"triton/server/infer"
	"triton/server/infer/infertest"
)

// backends are those with configurations in testdata/configs, which are
// those of NVIDIA's tests.
var backends = map[string]backend.Backend{
	"sequence": builtin.Sequence{}, "dyna_sequence": builtin.DynaSequence{}, "implicit_state": builtin.ImplicitState{},
	"iterative_sequence": builtin.IterativeSequence{}, "distributed_addsub": builtin.DistributedAddSub{}, "query": builtin.Query{},
}

// bench is a backend with one instance.
type bench struct {
	*testing.T
	pool     *tensor.Pool
	cfg      *inferencepb.ModelConfig
	model    backend.Model
	instance backend.Instance
}

// configOf reads a configuration of testdata/configs.
func configOf(t *testing.T, name string) *inferencepb.ModelConfig {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "configs", name+".pbtxt"))
	require.NoError(t, err)
	cfg := &inferencepb.ModelConfig{}
	require.NoError(t, prototext.Unmarshal(text, cfg))
	return cfg
}

func spec(cfg *inferencepb.ModelConfig, pool *tensor.Pool) backend.Spec {
	return backend.Spec{Name: cfg.GetName(), Config: cfg, Pool: pool, Log: slog.New(slog.DiscardHandler)}
}

func open(t *testing.T, cfg *inferencepb.ModelConfig) *bench {
	t.Helper()
	b := &bench{T: t, pool: tensor.NewPool(), cfg: cfg}
	var err error
	b.model, err = backends[cfg.GetBackend()].Load(t.Context(), spec(cfg, b.pool))
	require.NoError(t, err)
	b.instance, err = b.model.NewInstance(t.Context(), backend.Placement{Kind: inferencepb.ModelInstanceGroup_KIND_CPU})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, b.instance.Close())
		require.NoError(t, b.model.Close())
		require.Zero(t, b.pool.Outstanding())
	})
	return b
}

func (b *bench) number(v ...int32) tensor.Data {
	buf := b.pool.Get(4 * len(v))
	for i := range v {
		binary.NativeEndian.PutUint32(buf.Bytes()[4*i:], uint32(v[i]))
	}
	return tensor.NewData(buf)
}

// request has INT32 inputs of these numbers.
func (b *bench) request(inputs map[string][]int32) *infer.Request {
	r := infer.NewUnpooled()
	r.Unary()
	r.ModelName, r.Pool = b.cfg.GetName(), b.pool
	for name, v := range inputs {
		t := r.AddInput()
		t.Name, t.DataType, t.Shape, t.Data = name, tensor.Int32, tensor.Shape{int64(len(v))}, b.number(v...)
		if b.cfg.GetMaxBatchSize() > 0 {
			r.Batch, t.Shape = 1, tensor.Shape{1, int64(len(v))}
		}
	}
	return r
}

// control adds what the scheduler adds.
func (b *bench) control(r *infer.Request, name string, v int32) {
	t := r.Extra()
	t.Name, t.DataType, t.Shape, t.Data = name, tensor.Int32, tensor.Shape{1, 1}, b.number(v)
}

// step returns a request of a sequence: flags are the letters S, E and R.
func (b *bench) step(id uint64, flags string, v ...int32) *infer.Request {
	r := b.request(map[string][]int32{"INPUT": v})
	for letter, name := range map[string]string{"S": "START", "E": "END", "R": "READY"} {
		b.control(r, name, int32(strings.Count(flags, letter)))
	}
	buf := b.pool.Get(8)
	binary.NativeEndian.PutUint64(buf.Bytes(), id)
	t := r.Extra()
	t.Name, t.DataType, t.Shape, t.Data = "CORRID", tensor.Uint64, tensor.Shape{1, 1}, tensor.NewData(buf)
	return r
}

// run returns what a batch answers: numbers of OUTPUT, or errors.
func (b *bench) run(rs ...*infer.Request) (out [][]int32, errs []string) {
	b.Helper()
	require.NoError(b, run(b.T, b.instance, rs...))
	for _, r := range rs {
		out, errs = append(out, nil), append(errs, "")
		k := len(out) - 1
		if !r.Membership.Null {
			resp, err := r.Wait(context.Background())
			if err != nil {
				errs[k] = err.Error()
			} else {
				out[k] = values(resp)
				resp.Release()
			}
		}
		r.Release()
		r.Release()
	}
	return out, errs
}

func values(resp *infer.Response) []int32 {
	var all []int32
	for _, o := range resp.Outputs {
		mem, _ := o.Data.Contiguous()
		for ; len(mem) > 0; mem = mem[4:] {
			all = append(all, int32(binary.NativeEndian.Uint32(mem)))
		}
	}
	return all
}

func TestSequence(t *testing.T) {
	t.Parallel()
	cfg := configOf(t, "custom_sequence_int32")
	cfg.Parameters = nil
	b := open(t, cfg)
	null := b.step(0, "", 99)
	null.Membership.Null = true
	for _, c := range []struct {
		batch []*infer.Request
		want  [][]int32
		errs  []string
	}{
		{[]*infer.Request{b.step(1, "SR", 1, 2), b.step(2, "SR", 10)}, [][]int32{{3, 3}, {10}}, []string{"", ""}},
		{[]*infer.Request{b.step(1, "R", 4), null, b.step(3, "SR", 5)}, [][]int32{{7}, nil, {5}}, []string{"", "", ""}},
		{[]*infer.Request{b.step(4, "SR", 1), b.step(2, "ER", 1)}, [][]int32{{1}, {11}}, []string{"", ""}},
		{[]*infer.Request{b.step(4, "", 50)}, [][]int32{nil}, []string{""}},
		{[]*infer.Request{b.step(4, "R", 1)}, [][]int32{{2}}, []string{""}},
		{[]*infer.Request{b.request(map[string][]int32{"INPUT": {1}})}, [][]int32{nil}, []string{"[request id: <id_unknown>] unknown request input name START"}},
	} {
		out, errs := b.run(c.batch...)
		require.Equal(t, c.want, out)
		require.Equal(t, c.errs, errs)
	}
	two := b.step(1, "SR", 1, 2)
	two.Inputs[0].Shape = tensor.Shape{2, 1}
	named := b.step(1, "SR", 1)
	named.SequenceIDStr = "a"
	_, errs := b.run(two, named)
	require.Equal(t, []string{
		"unable to execute more than one timestep at a time", "[request id: <id_unknown>] correlation ID in request is not an unsigned int",
	}, errs)
	var many []*infer.Request
	for range 9 {
		many = append(many, b.step(1, "SR", 1))
	}
	err := run(t, b.instance, many...)
	require.EqualError(t, err, "unable to execute batch larger than max-batch-size")
	require.Equal(t, status.Unsupported, status.CodeOf(err))
	for _, r := range many {
		r.Release()
		r.Release()
	}
}

func TestDynaSequence(t *testing.T) {
	t.Parallel()
	cfg := configOf(t, "custom_dyna_sequence_int32")
	cfg.Parameters = nil
	b := open(t, cfg)
	const big = 1<<32 + 7
	for _, c := range []struct {
		batch []*infer.Request
		want  [][]int32
	}{
		{[]*infer.Request{b.step(1, "SR", 1), b.step(big, "SR", 10)}, [][]int32{{1}, {10}}},
		{[]*infer.Request{b.step(big, "R", 5), b.step(1, "R", 2)}, [][]int32{{15}, {3}}},
		{[]*infer.Request{b.step(1, "", 5)}, [][]int32{nil}},
		{[]*infer.Request{b.step(1, "RE", 4, 4), b.step(big, "RE", 5)}, [][]int32{{12, 12}, {27}}},
		{[]*infer.Request{b.step(3, "SRE", 4)}, [][]int32{{7}}},
	} {
		out, _ := b.run(c.batch...)
		require.Equal(t, c.want, out)
	}
}

func TestDynaSequenceOfStrings(t *testing.T) {
	t.Parallel()
	cfg := configOf(t, "custom_dyna_sequence_int32")
	cfg.Parameters = nil
	cfg.GetSequenceBatching().ControlInput[3].Control[0].DataType = inferencepb.DataType_TYPE_STRING
	b := open(t, cfg)
	const bad = "dyna sequence backend expects correlation ID to be decodable into an integer"
	for id, c := range map[string]struct {
		sum int32
		err string
	}{
		"5": {6, ""}, " 12x": {13, ""}, "-3": {-2, ""}, "+4": {5, ""},
		"x": {0, bad}, "": {0, bad}, "-": {0, bad}, "4294967296": {0, bad}, "1-2": {2, ""},
	} {
		r := b.step(0, "SER", 1)
		last := &r.Extras()[3]
		last.Data.Release()
		text := tensor.AppendElementString(nil, id)
		buf := b.pool.Get(len(text))
		copy(buf.Bytes(), text)
		last.Data = tensor.NewData(buf)
		out, errs := b.run(r)
		require.Equal(t, c.err, errs[0], id)
		if c.err == "" {
			require.Equal(t, []int32{c.sum}, out[0], id)
		}
	}
}

// lasting is the states of a sequence in a test.
type lasting struct{ data *tensor.Data }

func (l lasting) Update(output string, _ tensor.DataType, _ tensor.Shape, data tensor.Data) error {
	data.Release()
	return status.New(status.InvalidArg, "state '%s' is not a valid state name.", output)
}

func TestImplicitState(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		config string
		test   int32
		moved  bool // the state has another address at the second request
		want   [][]int32
		errs   []string
	}{
		{"no_implicit_state", 0, false, [][]int32{nil, nil}, []string{
			"unable to add state 'undefined_state'. State configuration is missing for model 'no_implicit_state'.",
			"unable to add state 'undefined_state'. State configuration is missing for model 'no_implicit_state'.",
		}},
		{"wrong_internal_state", 0, false, [][]int32{nil, nil}, []string{
			"state 'undefined_state' is not a valid state name.", "state 'undefined_state' is not a valid state name.",
		}},
		{"no_state_update", 1, false, [][]int32{{8}, {9}}, []string{"", ""}},
		{"no_implicit_state", 1, false, [][]int32{nil, nil}, []string{
			"[request id: <id_unknown>] unknown request input name INPUT_STATE", "[request id: <id_unknown>] unknown request input name INPUT_STATE",
		}},
		{"single_state_buffer", 2, false, [][]int32{nil, nil}, []string{"", ""}},
		{"single_state_buffer", 2, true, [][]int32{nil, nil}, []string{"", "Input and output state are using different buffers."}},
		{"no_state_update", 2, false, [][]int32{nil, nil}, []string{"", "Input and output state are using different buffers."}},
		{"growable_memory", 3, false, [][]int32{nil, nil}, []string{
			"growable memory should always provide memory in GPU", "growable memory should always provide memory in GPU",
		}},
		{"no_state_update", 4, false, [][]int32{nil, nil}, []string{"", ""}},
	} {
		b := open(t, configOf(t, c.config))
		state, other := b.number(7), b.number(7)
		for k, flags := range []string{"SR", "ER"} {
			r := b.step(1, flags, int32(k+1))
			in := r.AddInput()
			in.Name, in.DataType, in.Shape, in.Data = "TEST_CASE", tensor.Int32, tensor.Shape{1}, b.number(c.test)
			if len(b.cfg.GetSequenceBatching().GetState()) > 0 {
				now := &state
				if c.moved && k > 0 {
					now = &other
				}
				r.Membership.States = lasting{now}
				e := r.Extra()
				e.Name, e.DataType, e.Shape, e.Data = "INPUT_STATE", tensor.Int32, tensor.Shape{1}, now.Clone()
			}
			out, errs := b.run(r)
			require.Equal(t, c.errs[k], errs[0], "%s %d", c.config, c.test)
			require.Equal(t, c.want[k], out[0], "%s %d", c.config, c.test)
		}
		state.Release()
		other.Release()
	}
}

func TestIterativeSequence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, configOf(t, "iterative_sequence"))
		r := b.request(map[string][]int32{"INPUT": {2}})
		r.SequenceID = 9
		r.AllowReschedule()
		got := newReplies()
		r.Sink = got
		begin := time.Now()
		require.NoError(t, run(t, b.instance, r))
		require.Equal(t, 500*time.Millisecond, time.Since(begin))
		require.True(t, r.Rescheduled())
		require.Equal(t, []string{"[1]"}, got.Texts())
		r.PrepareRequeue()
		require.NoError(t, run(t, b.instance, r))
		require.False(t, r.Rescheduled())
		require.Equal(t, []string{"[1]", "[0] final"}, got.Texts())
		r.Release()
		r.Release()
	})
}

// newReplies returns a sink that shows the first value of each response.
func newReplies() *infertest.Sink {
	s := infertest.NewSink()
	s.Format = func(resp *infer.Response) string { return fmt.Sprint(values(resp)[:1]) }
	return s
}

func TestIterativeSequenceWithoutIterations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, configOf(t, "iterative_sequence"))
		for range 2 { // the first leaves nothing behind
			_, errs := b.run(b.request(map[string][]int32{"INPUT": {2}}))
			require.Equal(t, []string{"Request is released with TRITONSERVER_REQUEST_RELEASE_RESCHEDULE, while the model is not configured to handle such a flag."}, errs)
		}
		out, _ := b.run(b.request(map[string][]int32{"INPUT": {1}}))
		require.Equal(t, [][]int32{{0}}, out)
	})
}

// A request whose id was that of one which broke off begins anew.
func TestIterativeSequenceAfterACancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, configOf(t, "iterative_sequence"))
		for range 2 {
			r := b.request(map[string][]int32{"INPUT": {2}})
			r.SequenceID, r.SequenceStart = 9, true
			r.AllowReschedule()
			got := newReplies()
			r.Sink = got
			require.NoError(t, run(t, b.instance, r))
			require.Equal(t, []string{"[1]"}, got.Texts())
			r.Release()
			r.Release()
		}
	})
}

func TestDistributedAddSub(t *testing.T) {
	t.Parallel()
	b := open(t, configOf(t, "distributed_int32_int32_int32"))
	pair := func() *infer.Request { return b.request(map[string][]int32{"INPUT0": {5, -1}, "INPUT1": {3, 1}}) }
	_, errs := b.run(pair())
	require.Equal(t, []string{"Sub operation must be done by GPU instance"}, errs)
	group := &inferencepb.ModelInstanceGroup{Passive: true}
	_, err := b.model.NewInstance(t.Context(), backend.Placement{Kind: inferencepb.ModelInstanceGroup_KIND_CPU, Group: group})
	require.EqualError(t, err, "CPU instance should not be passive")
	_, err = b.model.NewInstance(t.Context(), backend.Placement{Kind: inferencepb.ModelInstanceGroup_KIND_GPU})
	require.EqualError(t, err, "GPU instance should be passive")
	_, err = b.model.NewInstance(t.Context(), backend.Placement{Kind: inferencepb.ModelInstanceGroup_KIND_MODEL})
	require.EqualError(t, err, "instance kind must be CPU or GPU")
	_, err = b.model.NewInstance(t.Context(), backend.Placement{Kind: inferencepb.ModelInstanceGroup_KIND_GPU, Group: group})
	require.NoError(t, err)
	out, _ := b.run(pair())
	require.Equal(t, [][]int32{{8, 0, 2, -2}}, out)
}

func TestQuery(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env  map[string]string
		size int
		err  string
	}{
		{nil, 2, ""},
		{map[string]string{"TEST_BYTE_SIZE": "6"}, 6, ""},
		{map[string]string{"TEST_BYTE_SIZE": "6", "TEST_ANONYMOUS": "1"}, 3, ""},
		{map[string]string{"TEST_FAIL_WITH_QUERY_RESULT": "1"}, 0, "OUTPUT0 CPU 0; OUTPUT1 CPU 0; "},
		{map[string]string{"TEST_FAIL_WITH_QUERY_RESULT": "1", "TEST_ANONYMOUS": "1"}, 0, "NULL CPU 0; "},
	} {
		pool := tensor.NewPool()
		m, err := builtin.Query{Getenv: func(name string) string { return c.env[name] }}.Load(t.Context(), spec(configOf(t, "query"), pool))
		require.NoError(t, err)
		i, err := m.NewInstance(t.Context(), backend.Placement{})
		require.NoError(t, err)
		r := infer.NewUnpooled()
		r.Unary()
		r.Pool = pool
		require.NoError(t, run(t, i, r))
		resp, err := r.Wait(t.Context())
		if c.err != "" {
			require.EqualError(t, err, c.err)
			require.Equal(t, status.Unknown, status.CodeOf(err))
		} else {
			require.NoError(t, err)
			require.Len(t, resp.Outputs, 2)
			require.Equal(t, c.size, resp.Outputs[1].Data.Len())
			require.Equal(t, tensor.Shape{int64(c.size)}, resp.Outputs[1].Shape)
			resp.Release()
		}
		r.Release()
		r.Release()
		require.Zero(t, pool.Outstanding())
	}
	_, err := builtin.Query{Getenv: func(string) string { return "x" }}.Load(t.Context(), spec(configOf(t, "query"), nil))
	require.EqualError(t, err, "TEST_BYTE_SIZE must be a number that is not negative, got 'x'")
}
