package sequence_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/scheduler/sequence"
)

// testModel is one model's states and their log.
type testModel struct {
	*sequence.ImplicitStates
	pool *tensor.Pool
	log  bytes.Buffer
}

func open(t *testing.T, config string, files map[string][]byte) (*testModel, error) {
	t.Helper()
	b := &testModel{pool: tensor.NewPool()}
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "initial_state"), 0o755))
	for name, data := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "initial_state", name), data, 0o600))
	}
	cfg := &inferencepb.ModelConfig{}
	require.NoError(t, prototext.Unmarshal([]byte(config), cfg))
	log := slog.New(slog.NewTextHandler(&b.log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	var err error
	b.ImplicitStates, err = sequence.NewImplicitStates(sequence.StateOptions{Config: cfg, Dir: dir, Pool: b.pool, Log: log})
	if err != nil {
		require.Zero(t, b.pool.Outstanding())
	}
	return b, err
}

// one is the configuration of a state IN, OUT with these fields.
func one(batch int, fields string) string {
	return fmt.Sprintf(`max_batch_size: %d sequence_batching { state { input_name: "IN" output_name: "OUT" %s } }`, batch, fields)
}

func begin(t *testing.T, m *sequence.ImplicitStates) *sequence.States {
	t.Helper()
	s, err := m.NewStates()
	require.NoError(t, err)
	return s
}

// given returns the states of a request.
func given(s *sequence.States) (r *infer.Request, shape tensor.Shape, data []byte) {
	r = infer.NewRequest()
	s.AddTo(r)
	in := r.Input("IN")
	data = make([]byte, in.Data.Len())
	in.Data.CopyTo(data)
	return r, in.Shape, data
}

func done(r *infer.Request) {
	r.Release()
	r.Release()
}

func number(pool *tensor.Pool, v int32) tensor.Data {
	buf := pool.Get(4)
	binary.NativeEndian.PutUint32(buf.Bytes(), uint32(v))
	return tensor.NewData(buf)
}

func TestInitialValues(t *testing.T) {
	t.Parallel()
	hello := tensor.AppendElementString(tensor.AppendElementString(nil, "hello"), "")
	for name, c := range map[string]struct {
		config string
		shape  tensor.Shape
		data   []byte
	}{
		"none":                   {one(0, `data_type: TYPE_INT16 dims: [ 2, -1 ]`), tensor.Shape{2, 1}, make([]byte, 4)},
		"none, batching":         {one(4, `data_type: TYPE_INT16 dims: [ 2, -1 ]`), tensor.Shape{1, 2, 1}, make([]byte, 4)},
		"none, strings":          {one(0, `data_type: TYPE_STRING dims: [ 3 ]`), tensor.Shape{3}, make([]byte, 12)},
		"zeros":                  {one(1, `data_type: TYPE_INT32 dims: [ -1 ] initial_state { name: "i" data_type: TYPE_INT32 dims: [ 2 ] zero_data: true }`), tensor.Shape{1, 2}, make([]byte, 8)},
		"zeros whatever it says": {one(0, `data_type: TYPE_INT8 dims: [ 1 ] initial_state { name: "i" data_type: TYPE_INT8 dims: [ 1 ] zero_data: false }`), tensor.Shape{1}, make([]byte, 1)},
		"file":                   {one(0, `data_type: TYPE_UINT8 dims: [ 3 ] initial_state { name: "i" data_type: TYPE_UINT8 dims: [ 3 ] data_file: "long" }`), tensor.Shape{3}, []byte("abc")},
		"file of strings":        {one(2, `data_type: TYPE_STRING dims: [ -1 ] initial_state { name: "i" data_type: TYPE_STRING dims: [ 2 ] data_file: "strings" }`), tensor.Shape{1, 2}, hello},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := open(t, c.config, map[string][]byte{"long": []byte("abcdef"), "strings": hello})
			require.NoError(t, err)
			s := begin(t, b.ImplicitStates)
			r, shape, data := given(s)
			require.Equal(t, c.shape, shape)
			require.Equal(t, c.data, data)
			done(r)
			s.Close()
			b.Close()
			require.Zero(t, b.pool.Outstanding())
		})
	}
}

func TestLoadErrors(t *testing.T) {
	t.Parallel()
	initial := func(fields string) string {
		return one(0, `data_type: TYPE_INT32 dims: [ 2, -1 ] initial_state { `+fields+` }`)
	}
	for _, c := range []struct{ config, want string }{
		{one(0, `initial_state { zero_data: true } initial_state { zero_data: true }`), "initial_state field for state input 'IN' must contain exactly one or zero element. Found '2' elements."},
		{initial(`data_type: TYPE_INT64`), "The data type used for 'initial_state' field of state 'IN' does not match the state data type."},
		{initial(`data_type: TYPE_INT32`), "Field 'name' must be set when using initial_state for state input 'IN'."},
		{initial(`data_type: TYPE_INT32 name: "i" dims: [ 2 ]`), "Number of dimensions in 'initial_state' doesn't match the size of 'state' dimensions for state input 'IN'. 1 != 2"},
		{initial(`data_type: TYPE_INT32 name: "i" dims: [ 2, -1 ]`), "'initial_state' field for state input name 'IN' contains variable dimensions."},
		{initial(`data_type: TYPE_INT32 name: "i" dims: [ 3, 1 ]`), "'initial_state' dim for input name 'IN' doesn't match 'state' dim description. 3 != 2"},
		{initial(`data_type: TYPE_INT32 name: "i" dims: [ 2, 1 ]`), "initial_state setting expects state'IN' to have state_data set"},
		{initial(`data_type: TYPE_INT32 name: "i" dims: [ 2, 1 ] data_file: "five"`), "initial_state setting expects 8 bytes, but the data provided from fiveonly has 5 bytes."},
		{initial(`data_type: TYPE_INT32 name: "i" dims: [ 2, 1 ] data_file: "../five"`), "file '../five' of the initial state of 'IN' is outside the folder initial_state of the model"},
		{one(0, `data_type: TYPE_STRING dims: [ 2 ] initial_state { data_type: TYPE_STRING name: "i" dims: [ 2 ] data_file: "empty" }`), "initial_state setting expects 2 strings for state 'IN', but the data provided from empty has 0"},
		{one(0, `data_type: TYPE_STRING dims: [ 2 ] initial_state { data_type: TYPE_STRING name: "i" dims: [ 2 ] data_file: "five" }`), "file 'five' of the initial state of 'IN': element 0: BYTES tensor is cut off: length 875770417 but 1 bytes are left"},
		{`sequence_batching { state { input_name: "IN" output_name: "O" data_type: TYPE_INT8 initial_state { data_type: TYPE_INT8 name: "i" zero_data: true } }
			state { input_name: "IN" output_name: "P" data_type: TYPE_INT8 initial_state { data_type: TYPE_INT8 name: "i" zero_data: true } } }`, "State input name 'IN' specified more than once."},
	} {
		_, err := open(t, c.config, map[string][]byte{"five": []byte("12345"), "empty": nil})
		require.EqualError(t, err, c.want)
		require.Equal(t, status.InvalidArg, status.CodeOf(err))
	}
	_, err := open(t, initial(`data_type: TYPE_INT32 name: "i" dims: [ 2, 1 ] data_file: "none"`), nil)
	require.Regexp(t, "^failed to open text file for read /.*/initial_state/none: No such file or directory$", err.Error())
	require.Equal(t, status.Internal, status.CodeOf(err))
	_, err = open(t, one(0, `data_type: TYPE_INT32 dims: [ 4611686018427387904, 4 ]`), nil)
	require.ErrorContains(t, err, "no memory for state 'IN' of shape [4611686018427387904,4]")
}

func TestNoStates(t *testing.T) {
	t.Parallel()
	b, err := open(t, `sequence_batching { }`, nil)
	require.NoError(t, err)
	require.Nil(t, b.ImplicitStates)
}

func TestDuplicatesAreIgnored(t *testing.T) {
	t.Parallel()
	b, err := open(t, `sequence_batching { state { input_name: "IN" output_name: "OUT" data_type: TYPE_INT8 }
		state { input_name: "IN" output_name: "OTHER" data_type: TYPE_INT16 }
		state { input_name: "OTHER" output_name: "OUT" data_type: TYPE_INT16 } }`, nil)
	require.NoError(t, err)
	require.Equal(t, `level=WARN msg="Detected duplicate 'input_name' in the state configuration: 'IN.' This state configuration will be ignored."
level=WARN msg="Detected duplicate 'output_name' in the state configuration: 'OUT'. This state configuration will be ignored."
`, b.log.String())
	s := begin(t, b.ImplicitStates)
	r, _, data := given(s)
	require.Len(t, data, 1)
	require.Len(t, r.Extras(), 1)
	done(r)
	s.Close()
	b.Close()
	require.Zero(t, b.pool.Outstanding())
}

func TestGrowableMemory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ fields, want string }{
		{`use_growable_memory: true`, "In order to 'use_growable_memory', you must also enable 'use_single_buffer' for state input name 'IN'."},
		{`use_growable_memory: true use_same_buffer_for_input_output: true`, "'use_growable_memory' can only work with KIND_GPU model instances right now. " +
			"Please either change the instance type to KIND_GPU or set 'use_growable_memory' to false for state input 'IN'."},
	} {
		b, err := open(t, one(0, `data_type: TYPE_INT8 `+c.fields)+` instance_group { kind: KIND_CPU }`, nil)
		require.NoError(t, err, "the model loads")
		_, err = b.NewStates()
		require.EqualError(t, err, c.want)
		b.Close()
		require.Zero(t, b.pool.Outstanding())
	}
	b, err := open(t, one(0, `data_type: TYPE_INT8 use_growable_memory: true use_same_buffer_for_input_output: true`)+` instance_group { kind: KIND_GPU }`, nil)
	require.NoError(t, err)
	begin(t, b.ImplicitStates).Close()
	b.Close()
}

// The buffer of an output is the buffer of the next input.
func TestUpdate(t *testing.T) {
	t.Parallel()
	b, err := open(t, one(1, `data_type: TYPE_INT32 dims: [ -1 ]`), nil)
	require.NoError(t, err)
	s, other := begin(t, b.ImplicitStates), begin(t, b.ImplicitStates)

	first, _, _ := given(s)
	out := number(b.pool, 7)
	memory, _ := out.Contiguous()
	require.NoError(t, first.Membership.States.Update("OUT", tensor.Int32, tensor.Shape{1, 1}, out))
	second, _, data := given(s)
	require.EqualValues(t, 7, binary.NativeEndian.Uint32(data))
	got, _ := second.Input("IN").Data.Contiguous()
	require.Same(t, &memory[0], &got[0])
	done(second)

	third, _, again := given(s)
	require.Equal(t, data, again, "not updated")
	require.NoError(t, third.Membership.States.Update("OUT", tensor.Int64, tensor.Shape{1, 2}, tensor.NewData(b.pool.Get(16))))
	fourth, shape, _ := given(s)
	require.Equal(t, tensor.Shape{1, 2}, shape)
	require.Equal(t, tensor.Int64, fourth.Input("IN").DataType)
	require.Equal(t, tensor.Shape{1, 1}, third.Input("IN").Shape, "a request keeps what it got")
	require.Equal(t, tensor.Shape{1, 1}, first.Input("IN").Shape)
	sixth, shape, zero := given(other)
	require.Equal(t, tensor.Shape{1, 1}, shape, "the initial value is not touched")
	require.Equal(t, make([]byte, 4), zero)

	err = third.Membership.States.Update("IN", tensor.Int32, nil, number(b.pool, 1))
	require.EqualError(t, err, "state 'IN' is not a valid state name.")
	require.Equal(t, status.InvalidArg, status.CodeOf(err))

	null := infer.NewRequest()
	s.AddNullTo(null)
	require.Equal(t, tensor.Shape{1, 2}, null.Input("IN").Shape)
	require.NoError(t, null.Membership.States.Update("OUT", tensor.Int32, nil, number(b.pool, 1)))
	fifth, shape, _ := given(s)
	require.Equal(t, tensor.Shape{1, 2}, shape)

	b.Close()
	s.Close()
	require.NoError(t, fifth.Membership.States.Update("OUT", tensor.Int32, tensor.Shape{1}, number(b.pool, 3)), "too late")
	done(first)
	done(third)
	done(fourth)
	done(fifth)
	done(null)
	model, client := b.pool.Copied()
	require.Zero(t, model+client)
	require.EqualValues(t, 1, b.pool.Outstanding(), "the initial value, for the other sequence")
	other.Close()
	done(sixth)
	require.Zero(t, b.pool.Outstanding())
}

func TestCompatible(t *testing.T) {
	t.Parallel()
	b, err := open(t, one(1, `data_type: TYPE_INT32 dims: [ -1 ]`), nil)
	require.NoError(t, err)
	short, long := begin(t, b.ImplicitStates), begin(t, b.ImplicitStates)
	require.NoError(t, long.Update("OUT", tensor.Int32, tensor.Shape{1, 2}, tensor.NewData(b.pool.Get(8))))
	require.True(t, b.Compatible(nil, nil))
	require.True(t, b.Compatible(short, nil))
	require.False(t, b.Compatible(nil, long))
	require.False(t, b.Compatible(short, long))
	require.True(t, b.Compatible(long, long))
	short.Close()
	long.Close()
	b.Close()

	b, err = open(t, one(1, `data_type: TYPE_INT32 dims: [ 2 ]`), nil)
	require.NoError(t, err)
	require.True(t, b.Compatible(nil, nil))
	b.Close()
}

func BenchmarkAddAndUpdate(b *testing.B) {
	b.ReportAllocs()
	pool := tensor.NewPool()
	m, err := sequence.NewImplicitStates(sequence.StateOptions{Pool: pool, Config: &inferencepb.ModelConfig{SchedulingChoice: &inferencepb.ModelConfig_SequenceBatching{
		SequenceBatching: &inferencepb.ModelSequenceBatching{State: []*inferencepb.ModelSequenceBatching_State{
			{InputName: "IN", OutputName: "OUT", DataType: inferencepb.DataType_TYPE_INT32, Dims: []int64{1}},
		}},
	}}})
	require.NoError(b, err)
	s, _ := m.NewStates()
	r := infer.NewRequest()
	shape := tensor.Shape{1}
	for b.Loop() {
		s.AddTo(r)
		_ = r.Membership.States.Update("OUT", tensor.Int32, shape, tensor.NewData(pool.Get(4)))
		r.DropExtras()
	}
}
