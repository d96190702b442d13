package client

import (
	"context"

	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
)

// The administrative messages are those of the gRPC service over both protocols.
type (
	// ServerMetadata is the server's name, version and extensions.
	ServerMetadata = inferencepb.ServerMetadataResponse
	// ModelMetadata is a model's inputs and outputs.
	ModelMetadata = inferencepb.ModelMetadataResponse
	// TensorMetadata is an input or an output of ModelMetadata.
	TensorMetadata = inferencepb.ModelMetadataResponse_TensorMetadata
	// ModelConfig is a model's completed configuration.
	ModelConfig = inferencepb.ModelConfig
	// ModelStatistics holds the counters of one model version.
	ModelStatistics = inferencepb.ModelStatistics
	// BatchStatistics holds the executions of one batch size in ModelStatistics.
	BatchStatistics = inferencepb.InferBatchStatistics
	// IndexEntry is one model version of a repository.
	IndexEntry = inferencepb.RepositoryIndexResponse_ModelIndex
)

// call sends a message and returns the response.
func call[Resp any, P interface {
	*Resp
	proto.Message
}](ctx context.Context, c *Client, method string, req proto.Message,
) (P, error) {
	resp := P(new(Resp))
	if err := c.transport.call(ctx, method, req, resp); err != nil {
		return nil, err
	}
	return resp, nil
}

// Live reports whether the server is live. Like Ready and ModelReady it returns
// false without an error if the server reports that it is not.
func (c *Client) Live(ctx context.Context) (bool, error) {
	r, err := call[inferencepb.ServerLiveResponse](ctx, c, inferencepb.GRPCInferenceService_ServerLive_FullMethodName, &inferencepb.ServerLiveRequest{})
	return r.GetLive(), err
}

// Ready reports whether the server is ready for requests.
func (c *Client) Ready(ctx context.Context) (bool, error) {
	r, err := call[inferencepb.ServerReadyResponse](ctx, c, inferencepb.GRPCInferenceService_ServerReady_FullMethodName, &inferencepb.ServerReadyRequest{})
	return r.GetReady(), err
}

// ModelReady reports whether a model is ready. With an empty version the server
// chooses one, here and below.
func (c *Client) ModelReady(ctx context.Context, model, version string) (bool, error) {
	r, err := call[inferencepb.ModelReadyResponse](ctx, c, inferencepb.GRPCInferenceService_ModelReady_FullMethodName,
		&inferencepb.ModelReadyRequest{Name: model, Version: version})
	return r.GetReady(), err
}

// ServerMetadata returns the server's name, version and extensions.
func (c *Client) ServerMetadata(ctx context.Context) (*ServerMetadata, error) {
	return call[ServerMetadata](ctx, c, inferencepb.GRPCInferenceService_ServerMetadata_FullMethodName, &inferencepb.ServerMetadataRequest{})
}

// ModelMetadata returns a model's inputs and outputs.
func (c *Client) ModelMetadata(ctx context.Context, model, version string) (*ModelMetadata, error) {
	return call[ModelMetadata](ctx, c, inferencepb.GRPCInferenceService_ModelMetadata_FullMethodName,
		&inferencepb.ModelMetadataRequest{Name: model, Version: version})
}

// ModelConfig returns a model's completed configuration.
func (c *Client) ModelConfig(ctx context.Context, model, version string) (*ModelConfig, error) {
	r, err := call[inferencepb.ModelConfigResponse](ctx, c, inferencepb.GRPCInferenceService_ModelConfig_FullMethodName,
		&inferencepb.ModelConfigRequest{Name: model, Version: version})
	return r.GetConfig(), err
}

// Statistics returns the counters of a model, or of all models if model is empty.
func (c *Client) Statistics(ctx context.Context, model, version string) ([]*ModelStatistics, error) {
	r, err := call[inferencepb.ModelStatisticsResponse](ctx, c, inferencepb.GRPCInferenceService_ModelStatistics_FullMethodName,
		&inferencepb.ModelStatisticsRequest{Name: model, Version: version})
	return r.GetModelStats(), err
}

// Index lists the model versions of the repository, or only those that are
// ready.
func (c *Client) Index(ctx context.Context, readyOnly bool) ([]*IndexEntry, error) {
	r, err := call[inferencepb.RepositoryIndexResponse](ctx, c, inferencepb.GRPCInferenceService_RepositoryIndex_FullMethodName,
		&inferencepb.RepositoryIndexRequest{Ready: readyOnly})
	return r.GetModels(), err
}

// Override replaces the repository's configuration and files for one load.
type Override struct {
	// Config is the configuration as JSON text; empty uses the repository's.
	Config string
	// Files replace the model's directory. The keys are paths in it, such as
	// 1/model.onnx. They require a Config.
	Files map[string][]byte
}

// Load loads or reloads a model and waits until that is done.
func (c *Client) Load(ctx context.Context, model string, o Override) error {
	req := &inferencepb.RepositoryModelLoadRequest{ModelName: model, Parameters: map[string]*inferencepb.ModelRepositoryParameter{}}
	if o.Config != "" {
		req.Parameters["config"] = &inferencepb.ModelRepositoryParameter{
			ParameterChoice: &inferencepb.ModelRepositoryParameter_StringParam{StringParam: o.Config},
		}
	}
	for path, data := range o.Files {
		req.Parameters["file:"+path] = &inferencepb.ModelRepositoryParameter{
			ParameterChoice: &inferencepb.ModelRepositoryParameter_BytesParam{BytesParam: data},
		}
	}
	_, err := call[inferencepb.RepositoryModelLoadResponse](ctx, c, inferencepb.GRPCInferenceService_RepositoryModelLoad_FullMethodName, req)
	return err
}

// Unload starts to unload a model, with dependents also the composing models of an
// ensemble that nothing else uses. Requests in flight finish first.
func (c *Client) Unload(ctx context.Context, model string, dependents bool) error {
	req := &inferencepb.RepositoryModelUnloadRequest{ModelName: model, Parameters: map[string]*inferencepb.ModelRepositoryParameter{
		"unload_dependents": {ParameterChoice: &inferencepb.ModelRepositoryParameter_BoolParam{BoolParam: dependents}},
	}}
	_, err := call[inferencepb.RepositoryModelUnloadResponse](ctx, c, inferencepb.GRPCInferenceService_RepositoryModelUnload_FullMethodName, req)
	return err
}
