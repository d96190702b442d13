package model

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/modelconfig"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
)

// testWarmUp is a model with one input and the files f, s and its code.
func testWarmUp(t *testing.T, config string) (warmUpOptions, *tensor.Pool) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "warmup", "folder"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "warmup", "f"), []byte("0123456789abcdef"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "warmup", "s"), []byte("\x02\x00\x00\x00ab\x03\x00\x00\x00cde"), 0o600))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "warmup", "away")))
	c, err := modelconfig.Parse("config.pbtxt", []byte(`name: "m" max_batch_size: 8 input { name: "IN" data_type: TYPE_FP32 dims: -1 }`+config))
	require.NoError(t, err)
	if len(c.ModelWarmup) > 0 { // the first sample fits the model
		if in := c.ModelWarmup[0].Inputs["IN"]; in != nil {
			c.Input[0].DataType, c.Input[0].Dims = in.DataType, slices.Repeat([]int64{-1}, len(in.Dims))
		}
	}
	pool := tensor.NewPool()
	return warmUpOptions{
		Config: c.ModelConfig, Dir: dir, Pool: pool, Log: slog.New(slog.DiscardHandler),
		Check: func(r *infer.Request) error { r.Batch = 1; return nil },
	}, pool
}

// warmUpText is one batch.
func warmUpText(inputs string) string {
	return `model_warmup { name: "w" batch_size: 1 inputs { key: "IN" value { ` + inputs + ` } } }`
}

// answerSamples runs requests as a backend whose output is the text of the inputs.
func answerSamples(ran *[]string, err error) func([]*infer.Request) {
	return func(all []*infer.Request) {
		var texts []string
		for _, r := range all {
			for i := range r.Inputs {
				texts = append(texts, shownTensor(r.Inputs[i].Name, r.Inputs[i].Shape, &r.Inputs[i].Data))
			}
			for i := range r.Extras() {
				e := &r.Extras()[i]
				texts = append(texts, "+"+shownTensor(e.Name, e.Shape, &e.Data))
			}
			resp := infer.NewResponse()
			resp.Err = err
			r.Respond(resp, true)
			r.Release()
		}
		*ran = append(*ran, strings.Join(texts, " "))
	}
}

func shownTensor(name string, shape tensor.Shape, d *tensor.Data) string {
	mem, _ := d.Contiguous()
	return fmt.Sprintf("%s%v=%q", name, shape, mem)
}

func TestWarmUpSamples(t *testing.T) {
	t.Parallel()
	zeros := func(n int) string { return fmt.Sprintf("%q", strings.Repeat("\x00", n)) }
	for name, test := range map[string]struct {
		config string
		want   []string
	}{
		"none":                  {``, nil},
		"batch size 0":          {`model_warmup { name: "w" }`, nil},
		"zeros":                 {warmUpText(`data_type: TYPE_FP32 dims: 2 zero_data: true`), []string{"IN[1,2]=" + zeros(8)}},
		"any value will do":     {warmUpText(`data_type: TYPE_FP32 dims: 2 zero_data: false`), []string{"IN[1,2]=" + zeros(8)}},
		"nothing":               {warmUpText(`data_type: TYPE_FP32 dims: 0 zero_data: true`), []string{`IN[1,0]=""`}},
		"a file":                {warmUpText(`data_type: TYPE_FP32 dims: 4 input_data_file: "f"`), []string{`IN[1,4]="0123456789abcdef"`}},
		"the beginning of one":  {warmUpText(`data_type: TYPE_FP32 dims: 1 input_data_file: "f"`), []string{`IN[1,1]="0123"`}},
		"a file further up":     {warmUpText(`data_type: TYPE_FP32 dims: 1 input_data_file: "../warmup/f"`), []string{`IN[1,1]="0123"`}},
		"empty strings":         {warmUpText(`data_type: TYPE_STRING dims: 2 zero_data: true`), []string{"IN[1,2]=" + zeros(8)}},
		"no random strings":     {warmUpText(`data_type: TYPE_STRING dims: 2 random_data: true`), []string{"IN[1,2]=" + zeros(8)}},
		"strings of a file":     {warmUpText(`data_type: TYPE_STRING dims: 2 input_data_file: "s"`), []string{`IN[1,2]="\x02\x00\x00\x00ab\x03\x00\x00\x00cde"`}},
		"two rows, three times": {`model_warmup { name: "w" batch_size: 2 count: 3 inputs { key: "IN" value { data_type: TYPE_INT8 dims: 1 zero_data: true } } }`, []string{`IN[1,1]="\x00" IN[1,1]="\x00"`, `IN[1,1]="\x00" IN[1,1]="\x00"`, `IN[1,1]="\x00" IN[1,1]="\x00"`}},
		"a control":             {warmUpText(`data_type: TYPE_INT8 dims: 1 zero_data: true } } inputs { key: "START" value { data_type: TYPE_INT8 dims: 1 zero_data: true`), []string{`IN[1,1]="\x00" +START[1,1]="\x00"`}},
		"several samples":       {warmUpText(`data_type: TYPE_FP32 dims: 1 zero_data: true`) + warmUpText(`data_type: TYPE_FP32 dims: 1 input_data_file: "f"`), []string{`IN[1,1]="\x00\x00\x00\x00"`, `IN[1,1]="0123"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, pool := testWarmUp(t, test.config)
			p, err := readWarmUp(o)
			require.NoError(t, err)
			if test.want == nil {
				require.Nil(t, p)
				return
			}
			for range 2 { // instances
				var ran []string
				require.NoError(t, p.Run(t.Context(), backend.Placement{}, answerSamples(&ran, nil)))
				require.Equal(t, test.want, ran)
			}
			p.Close()
			require.Zero(t, pool.Outstanding())
		})
	}
}

func TestRandomBooleansAreBooleans(t *testing.T) {
	t.Parallel()
	o, pool := testWarmUp(t, warmUpText(`data_type: TYPE_BOOL dims: 1000 random_data: true`))
	p, err := readWarmUp(o)
	require.NoError(t, err)
	var ran []string
	require.NoError(t, p.Run(t.Context(), backend.Placement{}, answerSamples(&ran, nil)))
	require.Contains(t, ran[0], `\x00`)
	require.Contains(t, ran[0], `\x01`)
	require.Empty(t, strings.Trim(strings.TrimPrefix(ran[0], "IN[1,1000]="), `"\x01`))
	p.Close()
	require.Zero(t, pool.Outstanding())
}

// TestReadWarmUp has the texts of NVIDIA's server.
func TestReadWarmUp(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ config, want string }{
		"a dimension is open": {warmUpText(`data_type: TYPE_FP32 dims: -1 zero_data: true`), "warmup setting expects all variable-size dimensions are specified for input 'IN'"},
		"no data":             {warmUpText(`data_type: TYPE_FP32 dims: 4`), "[request id: <id_unknown>] warmup setting expects input 'IN' to have input_data_type set"},
		"a short file":        {warmUpText(`data_type: TYPE_FP32 dims: 5 input_data_file: "f"`), "[request id: <id_unknown>] warmup setting expects 20 bytes, but the data provided from fonly has 16 bytes"},
		"no file":             {warmUpText(`data_type: TYPE_FP32 dims: 5 input_data_file: "g"`), "failed to open text file for read DIR/warmup/g: No such file or directory"},
		"no name":             {warmUpText(`data_type: TYPE_FP32 dims: 5 input_data_file: ""`), "failed to open text file for read DIR/warmup/: not a file"},
		"outside":             {warmUpText(`data_type: TYPE_FP32 dims: 1 input_data_file: "../../x"`), "failed to open text file for read DIR/warmup/../../x: path escapes from parent"},
		"a link to outside":   {warmUpText(`data_type: TYPE_FP32 dims: 1 input_data_file: "away"`), "failed to open text file for read DIR/warmup/away: path escapes from parent"},
		"a folder":            {warmUpText(`data_type: TYPE_FP32 dims: 1 input_data_file: "folder"`), "failed to open text file for read DIR/warmup/folder: not a file"},
		"too much": {
			warmUpText(`data_type: TYPE_FP32 dims: [4611686018427387904, 4] zero_data: true`),
			"warmup setting for input 'IN': shape [1,4611686018427387904,4]: element count exceeds 9223372036854775807",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, pool := testWarmUp(t, warmUpText(`data_type: TYPE_FP32 dims: 1 zero_data: true`)+test.config)
			_, err := readWarmUp(o)
			require.EqualError(t, err, strings.ReplaceAll(test.want, "DIR", o.Dir))
			require.Zero(t, pool.Outstanding())
		})
	}
	t.Run("what clients may not send", func(t *testing.T) {
		t.Parallel()
		o, pool := testWarmUp(t, warmUpText(`data_type: TYPE_FP32 dims: 1 zero_data: true`))
		o.Check = func(*infer.Request) error { return errors.New("no") }
		_, err := readWarmUp(o)
		require.EqualError(t, err, "no")
		require.Zero(t, pool.Outstanding())
	})
}

func TestWarmUpFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rows int
		want string
	}{
		"each answer": {2, "failed to run warmup sample 'zero sample': An Error Occurred; An Error Occurred; "},
		"more than a batch": {9, "failed to run warmup sample 'zero sample': " +
			strings.Repeat("batch size 9 for 'm_0_0', max allowed is 8; ", 9)},
		"much more than one": {2_000_000, "failed to run warmup sample 'zero sample': " +
			strings.Repeat("batch size 2000000 for 'm_0_0', max allowed is 8; ", 64)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, pool := testWarmUp(t, fmt.Sprintf(`model_warmup { name: "zero sample" batch_size: %d inputs { key: "IN" value { data_type: TYPE_FP32 dims: 1 zero_data: true } } }`, test.rows)+
				warmUpText(`data_type: TYPE_FP32 dims: 1 zero_data: true`))
			p, err := readWarmUp(o)
			require.NoError(t, err)
			var ran []string
			err = p.Run(t.Context(), backend.Placement{Name: "m_0_0"}, answerSamples(&ran, errors.New("An Error Occurred")))
			require.EqualError(t, err, test.want)
			require.LessOrEqual(t, len(ran), 1, "the second sample does not run")
			p.Close()
			require.Zero(t, pool.Outstanding())
		})
	}
}

func TestTheEndOfALoadCancelsItsWarmUp(t *testing.T) {
	t.Parallel()
	o, pool := testWarmUp(t, strings.Repeat(warmUpText(`data_type: TYPE_FP32 dims: 1 zero_data: true`), 2))
	p, err := readWarmUp(o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var polling sync.WaitGroup
	err = p.Run(ctx, backend.Placement{}, func(all []*infer.Request) {
		polling.Go(func() { // a backend that polls
			for !all[0].Cancelled() {
			}
			all[0].Respond(infer.NewResponse(), true)
			all[0].Release()
		})
		cancel()
	})
	require.ErrorIs(t, err, context.Canceled)
	polling.Wait() // it gives back its reference after the response
	p.Close()
	require.Zero(t, pool.Outstanding())
}
