package grpcapi

import (
	"context"
	"maps"
	"slices"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/frontend"
	"triton/server/infer"
)

// RepositoryModelLoad loads a model, or loads it again. It returns when the model is
// ready.
func (s *service) RepositoryModelLoad(
	ctx context.Context, r *inferencepb.RepositoryModelLoadRequest,
) (*inferencepb.RepositoryModelLoadResponse, error) {
	if r.GetRepositoryName() != "" {
		return nil, statusError(frontend.ErrRepositoryName)
	}
	o, err := loadOptions(r.GetParameters())
	if err == nil {
		err = s.svc.Load(ctx, r.GetModelName(), o)
	}
	if err != nil {
		return nil, statusError(err)
	}
	return &inferencepb.RepositoryModelLoadResponse{}, nil
}

func loadOptions(params map[string]*inferencepb.ModelRepositoryParameter) (o infer.LoadOptions, err error) {
	for _, name := range slices.Sorted(maps.Keys(params)) {
		known, err := frontend.AddLoadParameter(&o, name, loadValue{name, params[name]})
		if err != nil {
			return o, err
		}
		if !known {
			return o, status.New(status.InvalidArg, "unrecognized load parameter '%s'.", name)
		}
	}
	return o, nil
}

type loadValue struct {
	name  string
	param *inferencepb.ModelRepositoryParameter
}

// Text returns the value of a string parameter.
func (v loadValue) Text() (string, error) {
	p, ok := v.param.GetParameterChoice().(*inferencepb.ModelRepositoryParameter_StringParam)
	if !ok {
		return "", v.mistyped("string_param")
	}
	return p.StringParam, nil
}

// Content returns the value of a bytes parameter.
func (v loadValue) Content() ([]byte, error) {
	p, ok := v.param.GetParameterChoice().(*inferencepb.ModelRepositoryParameter_BytesParam)
	if !ok {
		return nil, v.mistyped("bytes_param")
	}
	return p.BytesParam, nil
}

func (v loadValue) mistyped(want string) error {
	return status.New(status.InvalidArg, "invalid value type for load parameter '%s', expected %s.", v.name, want)
}

// RepositoryModelUnload takes a model out of service. It returns when the model accepts
// no new requests.
func (s *service) RepositoryModelUnload(
	ctx context.Context, r *inferencepb.RepositoryModelUnloadRequest,
) (*inferencepb.RepositoryModelUnloadResponse, error) {
	if r.GetRepositoryName() != "" {
		return nil, statusError(frontend.ErrRepositoryName)
	}
	dependents := false
	if p, ok := r.GetParameters()["unload_dependents"]; ok {
		v, ok := p.GetParameterChoice().(*inferencepb.ModelRepositoryParameter_BoolParam)
		if !ok {
			return nil, statusError(status.New(status.InvalidArg, "invalid value type for 'unload_dependents' parameter, expected bool_param."))
		}
		dependents = v.BoolParam
	}
	if err := s.svc.Unload(ctx, r.GetModelName(), dependents); err != nil {
		return nil, statusError(err)
	}
	return &inferencepb.RepositoryModelUnloadResponse{}, nil
}
