package trace

import (
	"encoding/json"
	"strings"
	"testing"

	"triton/pkg/tritonjson"
)

// FuzzConfig reads any arguments of --trace-config, one on each line.
func FuzzConfig(f *testing.F) {
	for _, s := range []string{
		"rate=1\nlevel=TIMESTAMPS\ntriton,file=f", "mode=OpenTelemetry\nopentelemetry,bsp_max_queue_size=1", ",=", "triton,log-frequency=-1", "opentelemetry,resource=a=b",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		config, err := ParseConfig(strings.Split(text, "\n"))
		if err != nil {
			return
		}
		s, err := Options{Config: config}.parse()
		if err != nil {
			return
		}
		if s.count < -1 || s.mode != Triton && s.mode != OpenTelemetry {
			t.Errorf("%q became %+v", text, s)
		}
	})
}

// FuzzChange makes changes of settings; the settings in force must always be usable.
func FuzzChange(f *testing.F) {
	f.Add("trace_level=TIMESTAMPS;m trace_rate=7;trace_rate=0;m trace_rate=none;trace_count=-2")
	f.Add("trace_level=OFF;m trace_level=TENSORS;log_frequency=99999999999")
	f.Fuzz(func(t *testing.T, text string) {
		tr := newTracer(parsedConfig{mode: Triton, file: "f", values: values{rate: 1, count: -1}}, nil)
		for step := range strings.SplitSeq(text, ";") {
			model, setting, ok := strings.Cut(step, " ")
			if !ok {
				model, setting = "", step
			}
			_ = change(t, tr, model, setting)
		}
		b := tr.current.Load()
		for name, s := range b.models {
			if s.own == 0 || s.usable() != nil {
				t.Errorf("%q: %s has %+v", text, name, s.effective())
			}
		}
		if err := b.global.usable(); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}

// FuzzTensor writes values of any bytes.
func FuzzTensor(f *testing.F) {
	f.Add(uint8(13), []byte("\x01\x00\x00\x00a"))
	f.Add(uint8(11), []byte{0, 0, 192, 127})
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) {
		text := tritonjson.AppendValid(nil, string(appendValues(nil, types[int(kind)%len(types)], data)))
		if !json.Valid(text) {
			t.Errorf("%q", text)
		}
	})
}
