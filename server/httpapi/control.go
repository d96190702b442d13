package httpapi

import (
	"encoding/base64"
	"strings"

	"triton/pkg/status"
	"triton/pkg/tritonjson"
	"triton/server/frontend"
	"triton/server/infer"
)

var (
	errNoMembers = status.New(status.InvalidArg, "attempt to get members for non-object")
	errParameter = status.New(status.InvalidArg, "unexpected error on creating Triton parameter")
)

// load loads or reloads a model. It returns when the model serves.
func (a *api) load(x *exchange, r *route) error {
	if r.inRepository {
		return frontend.ErrRepositoryName
	}
	var o infer.LoadOptions
	err := x.parameters(func(params tritonjson.Value) error {
		members, err := params.Object()
		if err != nil {
			return errNoMembers
		}
		return members.Each(func(name string, v tritonjson.Value) error { return loadParameter(&o, name, v) })
	})
	if err != nil {
		return err
	}
	return a.svc.Load(x.Context, r.model, o)
}

// loadParameter reads one parameter of a load. All are strings.
func loadParameter(o *infer.LoadOptions, name string, v tritonjson.Value) error {
	text, err := v.String()
	if err != nil {
		return err
	}
	known, err := frontend.AddLoadParameter(o, name, loadValue{name, text})
	if err == nil && !known {
		err = errParameter
	}
	return err
}

type loadValue struct{ name, text string }

// Text returns the value as it is.
func (v loadValue) Text() (string, error) { return v.text, nil }

// Content decodes the content of a file.
func (v loadValue) Content() ([]byte, error) {
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(v.text, "=\r\n"))
	if err != nil {
		return nil, status.New(status.InvalidArg, "the content of '%s' is not base64: %w", v.name, err)
	}
	return b, nil
}

// unload unloads a model. It returns when the model accepts no new requests.
func (a *api) unload(x *exchange, r *route) error {
	if r.inRepository {
		return frontend.ErrRepositoryName
	}
	dependents := false
	err := x.parameters(func(params tritonjson.Value) error {
		members, err := params.Object()
		if err != nil {
			return nil // Triton ignores other values
		}
		v, ok := members.Get("unload_dependents")
		if !ok {
			return nil
		}
		if dependents, err = v.Bool(); err != nil {
			return status.New(status.CodeOf(err), "Unable to parse 'unload_dependents': %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return a.svc.Unload(x.Context, r.model, dependents)
}

// parameters calls visit with the member "parameters" of the body, if it exists.
func (x *exchange) parameters(visit func(tritonjson.Value) error) error {
	body, err := x.readText()
	if err != nil {
		return err
	}
	defer body.Release()
	if body.Len() == 0 {
		return nil
	}
	if err := x.requestMemory.Take(2 * body.Len()); err != nil { // texts of parameters, and files in them
		return err
	}
	request, err := tritonjson.ParseObject(body.Bytes())
	if err != nil {
		return err
	}
	if v, ok := request.Get("parameters"); ok {
		return visit(v)
	}
	return nil
}
