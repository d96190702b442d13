package repository

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/server/infer"
)

// three is the configuration of an identity model with sequences and three
// instances.
const three = `{"backend":"identity","input":[{"name":"INPUT0","data_type":"TYPE_INT32","dims":[4]}],"output":[{"name":"OUTPUT0","data_type":"TYPE_INT32","dims":[4]}],` +
	`"sequence_batching":{"max_sequence_idle_microseconds":60000000},"instance_group":[{"count":3,"kind":"KIND_CPU"}]}`

// step is a request of sequence 1.
func step(t *testing.T, r *Repository, pool *tensor.Pool, name string, start, end bool) error {
	t.Helper()
	m, err := r.Model(name, "")
	require.NoError(t, err)
	defer m.Release()
	q := numbers(pool, 4)
	defer q.Release()
	q.Inputs[0].Shape = tensor.Shape{4}
	q.SequenceID, q.SequenceStart, q.SequenceEnd = 1, start, end
	resp, err := m.Infer(t.Context(), q)
	if err == nil {
		resp.Release()
	}
	return err
}

// Open sequences go on with the instances that they began on, and FinishSequences waits for
// them.
func TestFinishSequences(t *testing.T) {
	t.Parallel()
	var pool *tensor.Pool
	r, out, err := open(t, func(o *Options) {
		explicit(o)
		o.Startup = []string{"*"}
		pool = o.Pool
	}, tree(t, map[string]string{
		"m/config.pbtxt": identity + "sequence_batching { max_sequence_idle_microseconds: 60000000 }", "m/1/": "",
		"n/config.pbtxt": identity, "n/1/": "",
	}))
	require.NoError(t, err)
	send := func(name string, start, end bool) error { return step(t, r, pool, name, start, end) }
	require.NoError(t, send("m", true, false))
	config := three
	require.NoError(t, r.Load(t.Context(), "m", infer.LoadOptions{Config: &config}))
	require.NoError(t, send("m", false, false), "on the instance before")
	require.NoError(t, send("m", false, true))
	require.NoError(t, send("m", true, false), "on one of the new ones")

	finished := make(chan struct{})
	go func() {
		r.FinishSequences(t.Context())
		close(finished)
	}()
	require.Eventually(t, func() bool { return !r.Ready() }, time.Minute, time.Millisecond)
	require.ErrorContains(t, r.Load(t.Context(), "m", infer.LoadOptions{}), "erver")
	require.NoError(t, send("n", false, false), "other models serve")
	require.NoError(t, send("m", false, false))
	require.Eventually(t, func() bool {
		return send("m", true, true) != nil // Stop comes after the server is not ready
	}, time.Minute, time.Millisecond)
	if r.openVersions()[0].InFlight() > 0 {
		require.NoError(t, send("m", false, true))
	}
	<-finished
	require.NotContains(t, out.messages(), "panic")
}

// An unload ends the open sequences of a model, also those on replaced instances.
func TestUnloadEndsSequencesOnInstancesBefore(t *testing.T) {
	t.Parallel()
	var pool *tensor.Pool
	r, _, err := open(t, func(o *Options) {
		explicit(o)
		o.Startup = []string{"*"}
		pool = o.Pool
	}, tree(t, map[string]string{
		"m/config.pbtxt": identity + "sequence_batching { max_sequence_idle_microseconds: 60000000 }", "m/1/": "",
	}))
	require.NoError(t, err)
	require.NoError(t, step(t, r, pool, "m", true, false))
	config := three
	require.NoError(t, r.Load(t.Context(), "m", infer.LoadOptions{Config: &config}))
	require.NoError(t, step(t, r, pool, "m", false, false), "on the instance before")
	require.NoError(t, r.Unload(t.Context(), "m", false))
	require.Eventually(t, func() bool { return len(r.openVersions()) == 0 }, time.Minute, time.Millisecond)
}

// The models whose sequences the shutdown waits for are in the log from its beginning on.
func TestFinishSequencesNamesModelsAtOnce(t *testing.T) {
	t.Parallel()
	var pool *tensor.Pool
	r, out, err := open(t, func(o *Options) {
		explicit(o)
		o.Startup = []string{"*"}
		pool = o.Pool
	}, tree(t, map[string]string{
		"m/config.pbtxt": identity + "sequence_batching { max_sequence_idle_microseconds: 60000000 }", "m/1/": "",
		"n/config.pbtxt": identity + "sequence_batching { }", "n/1/": "",
	}))
	require.NoError(t, err)
	require.NoError(t, step(t, r, pool, "m", true, false))
	ended, end := context.WithCancel(t.Context())
	end()
	r.FinishSequences(ended)
	require.Contains(t, out.messages(), "Found 1 model versions that have in-flight inferences")
	require.Contains(t, out.messages(), "Model 'm' (version 1) has 1 in-flight inferences")
}
