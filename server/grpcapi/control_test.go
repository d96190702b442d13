package grpcapi_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/infer"
)

// controlled records its last load or unload.
type controlled struct {
	*stub
	last string
}

func (c *controlled) Load(_ context.Context, name string, o infer.LoadOptions) error {
	c.last = "load " + name
	if o.Config != nil {
		c.last += " config=" + *o.Config
	}
	for k, v := range o.Files {
		c.last += fmt.Sprintf(" %s=%s", k, v)
	}
	if name == "bad" {
		return status.New(status.InvalidArg, "load failed for model 'bad': why;\n")
	}
	return nil
}

func (c *controlled) Unload(_ context.Context, name string, dependents bool) error {
	c.last = fmt.Sprintf("unload %s %t", name, dependents)
	return nil
}

type param = inferencepb.ModelRepositoryParameter

func text(s string) *param {
	return &param{ParameterChoice: &inferencepb.ModelRepositoryParameter_StringParam{StringParam: s}}
}

func raw(s string) *param {
	return &param{ParameterChoice: &inferencepb.ModelRepositoryParameter_BytesParam{BytesParam: []byte(s)}}
}

func flag(b bool) *param {
	return &param{ParameterChoice: &inferencepb.ModelRepositoryParameter_BoolParam{BoolParam: b}}
}

// TestControl compares with the recorded answers of Triton's server 2.51.
func TestControl(t *testing.T) {
	t.Parallel()
	s := newStub()
	svc := &controlled{stub: s}
	c := inferencepb.NewGRPCInferenceServiceClient(serve(t, svc, s, nil))
	type params = map[string]*param
	for _, x := range []struct {
		do, repository, model string
		params                params
		code                  codes.Code
		want                  string
	}{
		{"load", "", "m", nil, codes.OK, "load m"},
		{"load", "", "bad", nil, codes.InvalidArgument, "load failed for model 'bad': why;\n"},
		{"load", "", "m", params{"config": text("{}"), "file:a": raw("x")}, codes.OK, "load m config={} file:a=x"},
		{"load", "", "m", params{"config": flag(true)}, codes.InvalidArgument, "invalid value type for load parameter 'config', expected string_param."},
		{"load", "", "m", params{"config": raw("x")}, codes.InvalidArgument, "invalid value type for load parameter 'config', expected string_param."},
		{"load", "", "m", params{"config": {}}, codes.InvalidArgument, "invalid value type for load parameter 'config', expected string_param."},
		{"load", "", "m", params{"file:a": text("x")}, codes.InvalidArgument, "invalid value type for load parameter 'file:a', expected bytes_param."},
		{"load", "", "m", params{"other": text("x")}, codes.InvalidArgument, "unrecognized load parameter 'other'."},
		{"load", "r", "m", params{"other": text("x")}, codes.Unimplemented, "'repository_name' specification is not supported"},
		{"unload", "", "m", nil, codes.OK, "unload m false"},
		{"unload", "", "m", params{"unload_dependents": flag(true)}, codes.OK, "unload m true"},
		{"unload", "", "m", params{"unload_dependents": text("x")}, codes.InvalidArgument, "invalid value type for 'unload_dependents' parameter, expected bool_param."},
		{"unload", "", "m", params{"unload_dependents": {}}, codes.InvalidArgument, "invalid value type for 'unload_dependents' parameter, expected bool_param."},
		{"unload", "", "m", params{"other": text("x")}, codes.OK, "unload m false"},
		{"unload", "r", "m", nil, codes.Unimplemented, "'repository_name' specification is not supported"},
	} {
		var err error
		if x.do == "load" {
			_, err = c.RepositoryModelLoad(t.Context(), &inferencepb.RepositoryModelLoadRequest{RepositoryName: x.repository, ModelName: x.model, Parameters: x.params})
		} else {
			_, err = c.RepositoryModelUnload(t.Context(), &inferencepb.RepositoryModelUnloadRequest{RepositoryName: x.repository, ModelName: x.model, Parameters: x.params})
		}
		got := svc.last
		if err != nil {
			got = grpcstatus.Convert(err).Message()
		}
		require.Equal(t, x.code, grpcstatus.Code(err), x.want)
		require.Equal(t, x.want, got)
	}
}
