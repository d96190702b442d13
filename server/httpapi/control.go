package httpapi

import (
	"encoding/base64"
	"strings"

	"triton/pkg/kserve/rest"
	"triton/pkg/status"
	"triton/server/infer"
)

var (
	errRepositoryName = status.New(status.Unsupported, "'repository_name' specification is not supported")
	errNoMembers      = status.New(status.Internal, "attempt to get members for non-object")
	errParameter      = status.New(status.Internal, "unexpected error on creating Triton parameter")
)

// load loads or reloads a model. It returns when the model serves.
func (a *api) load(x *exchange, r *route) error {
	if r.inRepository {
		return errRepositoryName
	}
	var o infer.LoadOptions
	err := x.parameters(func(params rest.Value) error {
		members, err := params.Object()
		if err != nil {
			return errNoMembers
		}
		return members.Each(func(name string, v rest.Value) error { return loadParameter(&o, name, v) })
	})
	if err != nil {
		return err
	}
	return a.svc.Load(x.Context, r.model, o)
}

// loadParameter reads one parameter of a load. All are strings.
func loadParameter(o *infer.LoadOptions, name string, v rest.Value) error {
	text, err := v.String()
	switch {
	case err != nil:
		return err
	case name == "config":
		if o.Config == nil { // the first of equal names wins
			o.Config = &text
		}
	case strings.HasPrefix(name, "file:"):
		content, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "=\r\n"))
		if err != nil {
			return status.New(status.InvalidArg, "the content of '%s' is not base64: %w", name, err)
		}
		if o.Files == nil {
			o.Files = map[string][]byte{}
		}
		if _, ok := o.Files[name]; !ok {
			o.Files[name] = content
		}
	default:
		return errParameter
	}
	return nil
}

// unload unloads a model. It returns when the model accepts no new requests.
func (a *api) unload(x *exchange, r *route) error {
	if r.inRepository {
		return errRepositoryName
	}
	dependents := false
	err := x.parameters(func(params rest.Value) error {
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
func (x *exchange) parameters(visit func(rest.Value) error) error {
	body, err := x.readText()
	if err != nil {
		return err
	}
	defer body.Release()
	if body.Len() == 0 {
		return nil
	}
	request, err := rest.ParseObject(body.Bytes())
	if err != nil {
		return err
	}
	if v, ok := request.Get("parameters"); ok {
		return visit(v)
	}
	return nil
}
