package httpapi_test

import (
	"context"
	"encoding/binary"
	"os"
	"strings"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// stub is a service whose models return their inputs: INPUTn as OUTPUTn. It does not check
// requests against the model, which frontends do not do either; it only completes raw requests.
type stub struct {
	pool    *tensor.Pool
	ready   bool
	exit    bool
	failure error
	models  map[string]*stubModel
	stats   *inferencepb.ModelStatisticsResponse
	infer   func(ctx context.Context, r *infer.Request) (*infer.Response, error)
	load    func() error // nil: as a server without --model-control-mode=explicit
}

func newStub(pool *tensor.Pool) *stub {
	s := &stub{pool: pool, ready: true, models: map[string]*stubModel{}}
	types := []string{"bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "fp16", "fp32", "fp64", "string", "bf16"}
	for _, t := range types {
		s.add("id_"+t, 0, config("INPUT0", t, -1))
	}
	s.add("simple", 8, config("INPUT0", "int32", 16), config("INPUT1", "int32", 16))
	s.add("two", 0, config("INPUT0", "fp32", -1), config("INPUT1", "string", -1))
	s.add("cls", 4, config("INPUT0", "fp32", 4))
	s.models["cls"].labels = []string{"cat", "dog", "bird"}
	s.add("raw1", 4, config("INPUT0", "fp32", -1))
	s.add("rawstr", 4, config("INPUT0", "string", 1))
	s.add("dec", 0, config("INPUT0", "fp32", -1))
	s.addGenerated()
	s.models["dec"].config.ModelTransactionPolicy = &inferencepb.ModelTransactionPolicy{Decoupled: true}
	return s
}

func config(name, kind string, dim int64) *inferencepb.ModelInput {
	return &inferencepb.ModelInput{
		Name: name, Dims: []int64{dim},
		DataType: inferencepb.DataType(inferencepb.DataType_value["TYPE_"+strings.ToUpper(kind)]),
	}
}

func (s *stub) add(name string, batch int32, inputs ...*inferencepb.ModelInput) {
	s.models[name] = &stubModel{stub: s, name: name, config: &inferencepb.ModelConfig{
		Name: name, Backend: "python", MaxBatchSize: batch, Input: inputs,
	}}
}

func (s *stub) Live() bool     { return true }
func (s *stub) Ready() bool    { return s.ready }
func (s *stub) Exiting() bool  { return s.exit }
func (s *stub) Failure() error { return s.failure }

func (s *stub) Metadata() *inferencepb.ServerMetadataResponse {
	return &inferencepb.ServerMetadataResponse{Name: "triton", Version: "2.51.0", Extensions: []string{
		"classification", "sequence", "model_repository", "model_repository(unload_dependents)", "schedule_policy",
		"model_configuration", "system_shared_memory", "cuda_shared_memory", "binary_tensor_data", "parameters",
		"statistics", "trace", "logging",
	}}
}

func (s *stub) ModelReady(name, version string) (bool, error) {
	_, ok := s.models[name]
	return ok && (version == "" || version == "1"), nil
}

func (s *stub) Statistics(name, version string) (*inferencepb.ModelStatisticsResponse, error) {
	switch {
	case name != "" && s.models[name] == nil:
		return nil, status.New(status.InvalidArg, "requested model '%s' is not available", name)
	case version != "" && version != "1":
		return nil, status.New(status.InvalidArg, "requested model version is not available for model '%s'", name)
	}
	return s.stats, nil
}

func (s *stub) Index(bool) *inferencepb.RepositoryIndexResponse {
	names := []string{
		"cls", "dec", "id_bf16", "id_bool", "id_fp16", "id_fp32", "id_fp64", "id_int16", "id_int32", "id_int64", "id_int8",
		"id_string", "id_uint16", "id_uint32", "id_uint64", "id_uint8", "params", "raw1", "rawstr", "simple", "two",
	}
	r := &inferencepb.RepositoryIndexResponse{}
	for _, n := range names {
		r.Models = append(r.Models, &inferencepb.RepositoryIndexResponse_ModelIndex{Name: n, Version: "1", State: "READY"})
	}
	return r
}

func (s *stub) Model(name, version string) (infer.Model, error) {
	m := s.models[name]
	switch {
	case m == nil:
		return nil, status.New(status.NotFound, "Request for unknown model: '%s' is not found", name)
	case version != "" && version != "1":
		return nil, status.New(status.NotFound, "Request for unknown model: '%s' version %s is not found", name, version)
	}
	return m, nil
}

func (s *stub) Load(context.Context, string, infer.LoadOptions) error {
	if s.load != nil {
		return s.load()
	}
	return status.New(status.Unavailable, "explicit model load / unload is not allowed if polling is enabled")
}

func (s *stub) Unload(context.Context, string, bool) error { return nil }

// Submit answers with the result of Infer.
func (m *stubModel) Submit(r *infer.Request) error {
	if m.submit != nil {
		m.submit(r)
		return nil
	}
	resp, err := m.Infer(context.Background(), r)
	if err != nil {
		return err
	}
	r.Sink.Send(resp, true)
	return nil
}

type stubModel struct {
	stub   *stub
	name   string
	config *inferencepb.ModelConfig
	labels []string
	submit func(*infer.Request) // releases it; nil: answers with what Infer would
}

func (m *stubModel) Name() string                     { return m.name }
func (m *stubModel) Version() string                  { return "1" }
func (m *stubModel) Config() *inferencepb.ModelConfig { return m.config }
func (m *stubModel) Labels(string) []string           { return m.labels }
func (m *stubModel) Release()                         {}

func (m *stubModel) Metadata() *inferencepb.ModelMetadataResponse {
	md := &inferencepb.ModelMetadataResponse{Name: m.name, Versions: []string{"1"}, Platform: "python"}
	for _, in := range m.config.Input {
		t := inferencepb.ModelMetadataResponse_TensorMetadata{Name: in.Name, Datatype: m.dataType(in).String()}
		if m.config.MaxBatchSize > 0 {
			t.Shape = append(t.Shape, -1)
		}
		t.Shape = append(t.Shape, in.Dims...)
		md.Inputs = append(md.Inputs, &t)
		out := inferencepb.ModelMetadataResponse_TensorMetadata{Name: outputName(in.Name), Datatype: t.Datatype, Shape: t.Shape}
		md.Outputs = append(md.Outputs, &out)
	}
	return md
}

func (*stubModel) dataType(in *inferencepb.ModelInput) tensor.DataType {
	return tensor.DataType(in.DataType)
}

func outputName(input string) string { return strings.Replace(input, "INPUT", "OUTPUT", 1) }

func (m *stubModel) Infer(ctx context.Context, r *infer.Request) (*infer.Response, error) {
	defer r.Release()
	if m.stub.infer != nil {
		return m.stub.infer(ctx, r)
	}
	if r.Raw {
		if err := m.completeRaw(r); err != nil {
			return nil, err
		}
	}
	resp := infer.NewResponse()
	resp.ModelName, resp.ModelVersion, resp.ID = m.name, "1", r.ID
	if !strings.HasPrefix(m.name, "g_") {
		resp.Parameters = append(resp.Parameters, r.Parameters...)
	}
	for _, in := range m.config.Input {
		t := r.Input(in.Name)
		if t == nil || !r.Wants(outputName(in.Name)) {
			continue
		}
		resp.Add(outputName(t.Name), t.DataType, t.Shape, t.Data.Clone())
	}
	if m.name == "simple" {
		addSub(r, resp)
	}
	return resp, nil
}

// addSub makes the outputs of model simple the sum and difference of its inputs.
func addSub(r *infer.Request, resp *infer.Response) {
	a, _ := r.Inputs[0].Data.Contiguous()
	b, _ := r.Inputs[1].Data.Contiguous()
	for i := range resp.Outputs {
		out := make([]byte, len(a))
		for k := 0; k < len(a); k += 4 {
			v := binary.LittleEndian.Uint32(b[k:])
			if resp.Outputs[i].Name == "OUTPUT1" {
				v = -v
			}
			binary.LittleEndian.PutUint32(out[k:], binary.LittleEndian.Uint32(a[k:])+v)
		}
		resp.Outputs[i].Data.Release()
		resp.Outputs[i].Data = tensor.NewData(tensor.HeapBuffer(out))
	}
}

func (m *stubModel) completeRaw(r *infer.Request) error {
	if len(m.config.Input) != 1 {
		return status.New(status.InvalidArg, "%sRaw request must only have 1 input (found 1) to be deduced but got %d inputs in '%s' model configuration",
			r.Tag(), len(m.config.Input), m.name)
	}
	in, t := m.config.Input[0], &r.Inputs[0]
	t.Name, t.DataType = in.Name, m.dataType(in)
	if m.config.MaxBatchSize > 0 {
		t.Shape = append(t.Shape, 1)
	}
	if t.DataType != tensor.Bytes {
		t.Shape = append(t.Shape, int64(t.Data.Len()/t.DataType.Size()))
		return nil
	}
	raw := make([]byte, t.Data.Len())
	t.Data.CopyTo(raw)
	t.Data.Release()
	t.Data = tensor.NewData(tensor.HeapBuffer(tensor.AppendElement(nil, raw)))
	t.Shape = append(t.Shape, 1)
	return nil
}

func readFile(name string) string {
	b, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(b)
}
