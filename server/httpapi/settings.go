package httpapi

import (
	"strconv"

	"triton/pkg/kserve/rest"
	"triton/pkg/log"
	"triton/pkg/status"
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
	if r.model != "" {
		ready, err := a.svc.ModelReady(r.model, "")
		if err != nil {
			return err
		}
		if !ready {
			return status.New(status.InvalidArg, "Request for unknown model : %s", r.model)
		}
	}
	if x.Method == "POST" {
		c, err := x.traceChange()
		if err != nil {
			return err
		}
		if err = t.Update(r.model, c); err != nil {
			return err
		}
	}
	x.Text = appendTraceSettings(x.Text[:0], t.Settings(r.model))
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
	for _, name := range trace.Changeable() {
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

func settingTexts(name string, v rest.Value) ([]string, error) {
	if name == trace.LevelName {
		return v.Strings()
	}
	text, err := v.String()
	return []string{text}, err
}

func appendTraceSettings(b []byte, fields []trace.Field) []byte {
	b = append(b, '{')
	for i, f := range fields {
		b = append(rest.AppendString(comma(b, i), f.Name), ':')
		if f.Name == trace.LevelName {
			b = appendStrings(b, f.Values)
		} else {
			b = rest.AppendString(b, f.Values[0])
		}
	}
	return append(b, '}')
}

// object reads a request body that is a JSON object. The object is valid until done.
func (x *exchange) object() (o rest.Object, done func(), err error) {
	body, err := x.read(maxSettingsRequest)
	if err != nil {
		return o, nil, err
	}
	if o, err = rest.ParseObject(body.Bytes()); err != nil {
		body.Release()
		return o, nil, err
	}
	return o, body.Release, nil
}

// logSettings reads and changes the log settings.
func (a *api) logSettings(x *exchange) error {
	logs := a.opts.Logs
	if logs == nil {
		return status.New(status.Unavailable, "the server does not support dynamic logging")
	}
	if x.Method == "POST" {
		o, done, err := x.object()
		if err != nil {
			return err
		}
		defer done()
		if err = changeLogs(logs, o); err != nil {
			return err
		}
	}
	x.Text = appendLogSettings(x.Text[:0], logs.Settings())
	return nil
}

// logChanges are the changeable settings in the order in which they take effect: an error keeps
// the changes before it.
var logChanges = [...]struct {
	name string
	set  func(s *log.Settings, v rest.Value) error
}{
	{"log_file", func(*log.Settings, rest.Value) error {
		return status.New(status.Unsupported, "log file location can not be updated through network protocol")
	}},
	{"log_info", func(s *log.Settings, v rest.Value) (err error) { s.Info, err = v.Bool(); return err }},
	{"log_warning", func(s *log.Settings, v rest.Value) (err error) { s.Warning, err = v.Bool(); return err }},
	{"log_error", func(s *log.Settings, v rest.Value) (err error) { s.Error, err = v.Bool(); return err }},
	{"log_verbose_level", func(s *log.Settings, v rest.Value) error {
		n, err := v.Uint()
		s.Verbose = max(int(int32(n)), 0) // Triton keeps 32 bits
		return err
	}},
	{"log_format", func(s *log.Settings, v rest.Value) error {
		name, err := v.String()
		if err != nil {
			return err
		}
		if s.Format, err = log.ParseFormat(name); err != nil {
			return status.New(status.Unavailable, "invalid argument for --log_format, got: %s", name)
		}
		return nil
	}},
}

func changeLogs(logs *log.Sink, o rest.Object) error {
	for _, c := range logChanges {
		v, ok := o.Get(c.name)
		if !ok || v.IsNull() {
			continue
		}
		if err := logs.Update(func(s *log.Settings) error { return c.set(s, v) }); err != nil {
			return err
		}
	}
	return nil
}

func appendLogSettings(b []byte, s log.Settings) []byte {
	b = rest.AppendString(append(b, `{"log_file":`...), s.File)
	b = strconv.AppendBool(append(b, `,"log_info":`...), s.Info)
	b = strconv.AppendBool(append(b, `,"log_warning":`...), s.Warning)
	b = strconv.AppendBool(append(b, `,"log_error":`...), s.Error)
	b = strconv.AppendInt(append(b, `,"log_verbose_level":`...), int64(s.Verbose), 10)
	b = rest.AppendString(append(b, `,"log_format":`...), s.Format.String())
	return append(b, '}')
}
