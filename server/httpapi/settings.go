package httpapi

import (
	"strconv"

	"triton/pkg/log"
	"triton/pkg/status"
	"triton/pkg/tritonjson"
	"triton/server/frontend"
	"triton/server/trace"
)

// maxSettingsRequest bounds the body of a request that changes settings.
const maxSettingsRequest = 1 << 20

// traceSetting reads and changes the trace settings of a model or all.
func (a *api) traceSetting(x *exchange, r *route) error {
	t := a.opts.Tracer
	if t == nil {
		return status.New(status.Unavailable, "the server does not support tracing")
	}
	var change func() (trace.Change, error)
	if x.Method == "POST" {
		change = x.traceChange
	}
	fields, err := frontend.TraceSettings(t, a.svc.ModelReady, r.model, change)
	if err != nil {
		return err
	}
	x.Text = appendTraceSettings(x.Text[:0], fields)
	return nil
}

// traceChange reads the changes of a request.
func (x *exchange) traceChange() (trace.Change, error) {
	c := trace.Change{Terse: true}
	o, done, err := x.object()
	if err != nil {
		return c, err
	}
	defer done()
	for _, name := range c.Names() {
		v, ok := o.Get(name)
		if !ok {
			continue
		}
		var texts []string
		if !v.IsNull() && name != trace.FileName {
			if texts, err = settingTexts(name, v); err != nil {
				return c, err
			}
			if len(texts) == 0 {
				continue // an empty array changes nothing
			}
		}
		if err = c.Set(name, texts); err != nil {
			return c, err
		}
	}
	return c, nil
}

func settingTexts(name string, v tritonjson.Value) ([]string, error) {
	if name == trace.LevelName {
		return v.Strings()
	}
	text, err := v.String()
	return []string{text}, err
}

func appendTraceSettings(b []byte, fields []trace.Field) []byte {
	b = append(b, '{')
	for i, f := range fields {
		b = append(tritonjson.AppendString(tritonjson.Comma(b, i), f.Name), ':')
		if f.Name == trace.LevelName {
			b = tritonjson.AppendStrings(b, f.Values)
		} else {
			b = tritonjson.AppendString(b, f.Values[0])
		}
	}
	return append(b, '}')
}

// object reads a request body that is a JSON object. The object is valid until done.
func (x *exchange) object() (o tritonjson.Object, done func(), err error) {
	body, err := x.read(maxSettingsRequest)
	if err != nil {
		return o, nil, err
	}
	if o, err = tritonjson.ParseObject(body.Bytes()); err != nil {
		body.Release()
		return o, nil, err
	}
	return o, body.Release, nil
}

// logSettings reads and changes the log settings.
func (a *api) logSettings(x *exchange) error {
	var get func(name string) (frontend.LogValue, bool)
	if x.Method == "POST" && a.opts.Logs != nil {
		o, done, err := x.object()
		if err != nil {
			return err
		}
		defer done()
		get = func(name string) (frontend.LogValue, bool) {
			v, ok := o.Get(name)
			return logValue{v}, ok && !v.IsNull()
		}
	}
	s, err := frontend.LogSettings(a.opts.Logs, get)
	if err != nil {
		return err
	}
	x.Text = appendLogSettings(x.Text[:0], s)
	return nil
}

type logValue struct{ tritonjson.Value }

// Format reads the value of log_format.
func (v logValue) Format() (log.Format, error) {
	name, err := v.String()
	if err != nil {
		return 0, err
	}
	f, err := log.ParseFormat(name)
	if err != nil {
		return 0, status.New(status.Unavailable, "invalid argument for --log_format, got: %s", name)
	}
	return f, nil
}

func appendLogSettings(b []byte, s log.Settings) []byte {
	b = tritonjson.AppendString(append(b, `{"log_file":`...), s.File)
	b = strconv.AppendBool(append(b, `,"log_info":`...), s.Info)
	b = strconv.AppendBool(append(b, `,"log_warning":`...), s.Warning)
	b = strconv.AppendBool(append(b, `,"log_error":`...), s.Error)
	b = strconv.AppendInt(append(b, `,"log_verbose_level":`...), int64(s.Verbose), 10)
	b = tritonjson.AppendString(append(b, `,"log_format":`...), s.Format.String())
	return append(b, '}')
}
