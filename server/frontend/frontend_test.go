package frontend_test

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/log"
	"triton/pkg/status"
	"triton/server/frontend"
	"triton/server/infer"
	"triton/server/trace"
)

var errCodec = errors.New("of the codec")

// parameter is a load parameter that was decoded, or not.
type parameter struct {
	text string
	err  error
}

func (p parameter) Text() (string, error)    { return p.text, p.err }
func (p parameter) Content() ([]byte, error) { return []byte(p.text), p.err }

func TestLoadParameters(t *testing.T) {
	t.Parallel()
	var o infer.LoadOptions
	for _, c := range []struct {
		name  string
		value parameter
		known bool
		err   error
	}{
		{"config", parameter{"a", nil}, true, nil},
		{"config", parameter{"b", nil}, true, nil},
		{"config", parameter{"", errCodec}, true, errCodec},
		{"file:1/m", parameter{"c", nil}, true, nil},
		{"file:1/m", parameter{"d", nil}, true, nil},
		{"file:2/m", parameter{"", errCodec}, true, errCodec},
		{"other", parameter{"", errCodec}, false, nil},
	} {
		known, err := frontend.AddLoadParameter(&o, c.name, c.value)
		require.Equal(t, c.known, known, c.name)
		require.Equal(t, c.err, err, c.name)
	}
	require.Equal(t, "a", *o.Config, "the first of equal names wins")
	require.Equal(t, map[string][]byte{"file:1/m": []byte("c")}, o.Files)
}

func TestTraceSettings(t *testing.T) {
	t.Parallel()
	tracer, err := trace.New(trace.Options{})
	require.NoError(t, err)
	ready := func(model, _ string) (bool, error) {
		if model == "lost" {
			return false, errCodec
		}
		return model == "m", nil
	}
	const rateName = "trace_rate"
	change := func() (c trace.Change, err error) { return c, c.Set(rateName, []string{"7"}) }
	for model, want := range map[string]error{
		"lost": errCodec, "x": status.New(status.InvalidArg, "Request for unknown model : x"),
	} {
		_, err = frontend.TraceSettings(tracer, ready, model, func() (trace.Change, error) {
			t.Error("a change for a model that is not ready was read")
			return change()
		})
		require.EqualError(t, err, want.Error())
	}
	_, err = frontend.TraceSettings(tracer, ready, "m", func() (trace.Change, error) { return trace.Change{}, errCodec })
	require.ErrorIs(t, err, errCodec)
	before, err := frontend.TraceSettings(tracer, ready, "", nil)
	require.NoError(t, err)
	require.NotContains(t, before, trace.Field{Name: rateName, Values: []string{"7"}})
	changed, err := frontend.TraceSettings(tracer, ready, "m", change)
	require.NoError(t, err)
	require.Contains(t, changed, trace.Field{Name: rateName, Values: []string{"7"}})
	global, err := frontend.TraceSettings(tracer, ready, "", nil)
	require.NoError(t, err)
	require.Equal(t, before, global, "a change of one model is not one of all")
}

// setting is a log setting that was decoded, or not.
type setting struct {
	flag  bool
	level uint64
	err   error
}

func (s setting) Bool() (bool, error)         { return s.flag, s.err }
func (s setting) Uint() (uint64, error)       { return s.level, s.err }
func (s setting) Format() (log.Format, error) { return 0, s.err }

func TestLogSettings(t *testing.T) {
	t.Parallel()
	_, err := frontend.LogSettings(nil, func(string) (frontend.LogValue, bool) {
		t.Error("a setting was read without logs")
		return nil, false
	})
	require.EqualError(t, err, "the server does not support dynamic logging")
	logs, err := log.Open(log.DefaultSettings(), io.Discard, io.Discard)
	require.NoError(t, err)
	set := func(values map[string]setting) (log.Settings, error) {
		return frontend.LogSettings(logs, func(name string) (frontend.LogValue, bool) {
			v, ok := values[name]
			return v, ok
		})
	}
	s, err := set(map[string]setting{"log_info": {}, "log_verbose_level": {level: 3}, "unknown": {err: errCodec}})
	require.NoError(t, err)
	require.False(t, s.Info)
	require.True(t, s.Warning)
	require.Equal(t, 3, s.Verbose)
	s, err = set(map[string]setting{"log_verbose_level": {level: 1<<32 - 1}})
	require.NoError(t, err)
	require.Zero(t, s.Verbose, "as a number of 32 bits with a sign it is negative")
	_, err = set(map[string]setting{"log_file": {}, "log_info": {flag: true}})
	require.Equal(t, status.Unsupported, status.CodeOf(err))
	_, err = set(map[string]setting{"log_warning": {}, "log_error": {err: errCodec}, "log_format": {err: errCodec}})
	require.ErrorIs(t, err, errCodec)
	s, err = frontend.LogSettings(logs, nil)
	require.NoError(t, err)
	require.False(t, s.Info, "the file comes first and ends the call")
	require.False(t, s.Warning, "an error keeps the changes before it")
	require.True(t, s.Error)
}
