package grpcapi

import (
	"context"
	"maps"
	"slices"
	"strings"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/infer"
)

var errRepositoryName = status.New(status.Unsupported, "'repository_name' specification is not supported")

// RepositoryModelLoad loads a model, or loads it again. It answers when the
// model serves.
func (s *service) RepositoryModelLoad(
	ctx context.Context, r *inferencepb.RepositoryModelLoadRequest,
) (*inferencepb.RepositoryModelLoadResponse, error) {
	if r.GetRepositoryName() != "" {
		return nil, failure(errRepositoryName)
	}
	o, err := loadOptions(r.GetParameters())
	if err == nil {
		err = s.svc.Load(ctx, r.GetModelName(), o)
	}
	if err != nil {
		return nil, failure(err)
	}
	return &inferencepb.RepositoryModelLoadResponse{}, nil
}

func loadOptions(params map[string]*inferencepb.ModelRepositoryParameter) (o infer.LoadOptions, err error) {
	for _, name := range slices.Sorted(maps.Keys(params)) {
		p := params[name]
		switch {
		case name == "config":
			v, ok := p.GetParameterChoice().(*inferencepb.ModelRepositoryParameter_StringParam)
			if !ok {
				return o, status.New(status.InvalidArg, "invalid value type for load parameter '%s', expected string_param.", name)
			}
			o.Config = &v.StringParam
		case strings.HasPrefix(name, "file:"):
			v, ok := p.GetParameterChoice().(*inferencepb.ModelRepositoryParameter_BytesParam)
			if !ok {
				return o, status.New(status.InvalidArg, "invalid value type for load parameter '%s', expected bytes_param.", name)
			}
			if o.Files == nil {
				o.Files = map[string][]byte{}
			}
			o.Files[name] = v.BytesParam
		default:
			return o, status.New(status.InvalidArg, "unrecognized load parameter '%s'.", name)
		}
	}
	return o, nil
}

// RepositoryModelUnload takes a model out of service. It answers when no new
// requests are taken.
func (s *service) RepositoryModelUnload(
	ctx context.Context, r *inferencepb.RepositoryModelUnloadRequest,
) (*inferencepb.RepositoryModelUnloadResponse, error) {
	if r.GetRepositoryName() != "" {
		return nil, failure(errRepositoryName)
	}
	dependents := false
	if p, ok := r.GetParameters()["unload_dependents"]; ok {
		v, ok := p.GetParameterChoice().(*inferencepb.ModelRepositoryParameter_BoolParam)
		if !ok {
			return nil, failure(status.New(status.InvalidArg, "invalid value type for 'unload_dependents' parameter, expected bool_param."))
		}
		dependents = v.BoolParam
	}
	if err := s.svc.Unload(ctx, r.GetModelName(), dependents); err != nil {
		return nil, failure(err)
	}
	return &inferencepb.RepositoryModelUnloadResponse{}, nil
}
