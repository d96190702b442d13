package service_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"
	_ "google.golang.org/protobuf/types/known/wrapperspb" // registers Int64Value

	"triton/perf"
	"triton/perf/service"
	"triton/pkg/client"
	"triton/pkg/client/lane"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// schema is the part of the .proto files of TensorFlow and TensorFlow Serving that a client
// needs, with their field numbers: a message in each line, its fields as name number type. A
// type in brackets is repeated, one after "map" is the value of a map with string keys.
const schema = `
tensorflow.TensorShapeProto.Dim: size 1 int64, name 2 string
tensorflow.TensorShapeProto: dim 2 [tensorflow.TensorShapeProto.Dim], unknown_rank 3 bool
tensorflow.TensorProto: dtype 1 int32, tensor_shape 2 tensorflow.TensorShapeProto, version_number 3 int32, tensor_content 4 bytes, string_val 8 [bytes]
tensorflow.TensorInfo: name 1 string, dtype 2 int32, tensor_shape 3 tensorflow.TensorShapeProto
tensorflow.SignatureDef: inputs 1 map tensorflow.TensorInfo, outputs 2 map tensorflow.TensorInfo, method_name 3 string
tensorflow.serving.ModelSpec: name 1 string, version 2 google.protobuf.Int64Value, signature_name 3 string, version_label 4 string
tensorflow.serving.SignatureDefMap: signature_def 1 map tensorflow.SignatureDef
tensorflow.serving.GetModelMetadataRequest: model_spec 1 tensorflow.serving.ModelSpec, metadata_field 2 [string]
tensorflow.serving.GetModelMetadataResponse: model_spec 1 tensorflow.serving.ModelSpec, metadata 2 map google.protobuf.Any
tensorflow.serving.PredictRequest: model_spec 1 tensorflow.serving.ModelSpec, inputs 2 map tensorflow.TensorProto, output_filter 3 [string]
tensorflow.serving.PredictResponse: outputs 1 map tensorflow.TensorProto, model_spec 2 tensorflow.serving.ModelSpec
`

// messages parses the schema. Names have underscores for dots, so that all messages have one
// package; names do not matter on the wire.
var messages = sync.OnceValue(func() protoreflect.MessageDescriptors {
	file := &descriptorpb.FileDescriptorProto{
		Name: proto.String("test.proto"), Package: proto.String("t"), Syntax: proto.String("proto3"),
		Dependency: []string{"google/protobuf/any.proto", "google/protobuf/wrappers.proto"},
	}
	flat := func(name string) string { return strings.ReplaceAll(name, ".", "_") }
	for _, line := range strings.Split(strings.TrimSpace(schema), "\n") {
		name, fields, _ := strings.Cut(line, ": ")
		m := &descriptorpb.DescriptorProto{Name: proto.String(flat(name))}
		for _, text := range strings.Split(fields, ", ") {
			var number int32
			words := strings.Fields(text)
			for _, c := range words[1] {
				number = 10*number + c - '0'
			}
			f := field(words[0], number, words[len(words)-1], flat)
			if len(words) == 4 { // a map
				entry := &descriptorpb.DescriptorProto{
					Name: proto.String(entryName(words[0])), Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)},
					Field: []*descriptorpb.FieldDescriptorProto{field("key", 1, "string", flat), field("value", 2, words[3], flat)},
				}
				m.NestedType = append(m.NestedType, entry)
				f = field(words[0], number, "[t."+flat(name)+"."+entry.GetName()+"]", func(s string) string { return strings.TrimPrefix(s, "t.") })
				f.TypeName = proto.String(".t." + flat(name) + "." + entry.GetName())
			}
			m.Field = append(m.Field, f)
		}
		file.MessageType = append(file.MessageType, m)
	}
	d, err := protodesc.NewFile(file, protoregistry.GlobalFiles)
	if err != nil {
		panic(err)
	}
	return d.Messages()
})

func entryName(field string) string {
	name := ""
	for _, w := range strings.Split(field, "_") {
		name += strings.ToUpper(w[:1]) + w[1:]
	}
	return name + "Entry"
}

func field(name string, number int32, kind string, flat func(string) string) *descriptorpb.FieldDescriptorProto {
	f := &descriptorpb.FieldDescriptorProto{Name: &name, Number: &number, Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
	if strings.HasPrefix(kind, "[") {
		kind = strings.Trim(kind, "[]")
		f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	}
	switch kind {
	case "int64":
		f.Type = descriptorpb.FieldDescriptorProto_TYPE_INT64.Enum()
	case "int32":
		f.Type = descriptorpb.FieldDescriptorProto_TYPE_INT32.Enum()
	case "bool":
		f.Type = descriptorpb.FieldDescriptorProto_TYPE_BOOL.Enum()
	case "string":
		f.Type = descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum()
	case "bytes":
		f.Type = descriptorpb.FieldDescriptorProto_TYPE_BYTES.Enum()
	default:
		f.Type = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
		f.TypeName = proto.String(".t." + flat(kind))
		if strings.HasPrefix(kind, "google.") {
			f.TypeName = proto.String("." + kind)
		}
	}
	return f
}

func newMessage(name string) *dynamicpb.Message {
	return dynamicpb.NewMessage(messages().ByName(protoreflect.Name(strings.ReplaceAll(name, ".", "_"))))
}

func parse(t *testing.T, name, text string) *dynamicpb.Message {
	t.Helper()
	m := newMessage(name)
	require.NoError(t, prototext.Unmarshal([]byte(text), m))
	return m
}

// tfServer is TensorFlow Serving without a model: it decodes every message with the schema.
type tfServer struct {
	address    string
	signatures *dynamicpb.Message // SignatureDefMap
	mu         sync.Mutex
	requests   []string // PredictRequests as text
}

func startTFServing(t *testing.T, signatures string) *tfServer {
	t.Helper()
	s := &tfServer{signatures: parse(t, "tensorflow.serving.SignatureDefMap", signatures)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.address = l.Addr().String()
	g := grpc.NewServer()
	method := func(name, request string, answer func(*dynamicpb.Message) (proto.Message, error)) grpc.MethodDesc {
		return grpc.MethodDesc{MethodName: name, Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			m := newMessage(request)
			if err := decode(m); err != nil {
				return nil, err
			}
			return answer(m)
		}}
	}
	g.RegisterService(&grpc.ServiceDesc{ServiceName: "tensorflow.serving.PredictionService", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{
		method("GetModelMetadata", "tensorflow.serving.GetModelMetadataRequest", s.metadata),
		method("Predict", "tensorflow.serving.PredictRequest", s.predict),
	}}, s)
	done := make(chan struct{})
	go func() { defer close(done); _ = g.Serve(l) }()
	t.Cleanup(func() { g.Stop(); <-done })
	return s
}

func (s *tfServer) metadata(req *dynamicpb.Message) (proto.Message, error) {
	text := prototext.MarshalOptions{}.Format(req)
	if !strings.Contains(text, `"m"`) || !strings.Contains(text, `"signature_def"`) {
		return nil, status.Error(codes.NotFound, "Servable not found")
	}
	packed, err := proto.Marshal(s.signatures)
	if err != nil {
		return nil, err
	}
	resp := newMessage("tensorflow.serving.GetModelMetadataResponse")
	f := resp.Descriptor().Fields().ByName("metadata")
	value, err := proto.Marshal(&anypb.Any{TypeUrl: "type.googleapis.com/tensorflow.serving.SignatureDefMap", Value: packed})
	if err != nil {
		return nil, err
	}
	entry := resp.Mutable(f).Map().NewValue()
	if err := proto.Unmarshal(value, entry.Message().Interface()); err != nil {
		return nil, err
	}
	resp.Mutable(f).Map().Set(protoreflect.ValueOfString("signature_def").MapKey(), entry)
	return resp, nil
}

func (s *tfServer) predict(req *dynamicpb.Message) (proto.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(req.GetUnknown()) > 0 {
		return nil, status.Error(codes.InvalidArgument, "unknown fields")
	}
	s.requests = append(s.requests, strings.ReplaceAll(prototext.MarshalOptions{}.Format(req), "  ", " "))
	return newMessage("tensorflow.serving.PredictResponse"), nil
}

func (s *tfServer) target(t *testing.T, signature string) perf.Target {
	t.Helper()
	target, err := service.NewTFServing(service.TFServingOptions{Options: client.Options{Protocol: client.GRPC, Address: s.address}, Signature: signature})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, target.Close()) })
	return target
}

const signatures = `signature_def { key: "serving_default" value {
	inputs { key: "text" value { name: "t:0" dtype: 7 tensor_shape { dim { size: -1 } dim { size: 2 name: "n" } } } }
	inputs { key: "image" value { name: "i:0" dtype: 1 tensor_shape { dim { size: -1 } dim { size: 2 } } } }
	outputs { key: "y" value { dtype: 1 } } method_name: "tensorflow/serving/predict" } }
signature_def { key: "any" value { inputs { key: "x" value { dtype: 9 tensor_shape { unknown_rank: true } } } } }
signature_def { key: "fixed" value { inputs { key: "x" value { dtype: 19 tensor_shape { dim { size: 3 } } } } } }
signature_def { key: "complex" value { inputs { key: "x" value { dtype: 8 } } } }`

func TestTFServingDescribe(t *testing.T) {
	t.Parallel()
	s := startTFServing(t, signatures)
	describe := func(signature string, batching bool) (*perf.Description, error) {
		return s.target(t, signature).(perf.Describer).Describe(t.Context(), "m", "", batching)
	}
	d, err := describe("serving_default", true)
	require.NoError(t, err)
	require.Greater(t, d.MaxBatch, 1000)
	require.Equal(t, "image", d.Inputs[0].Name)
	require.Equal(t, tensor.FP32, d.Inputs[0].DataType)
	require.Equal(t, tensor.Shape{2}, d.Inputs[0].Shape, "without the batch dimension")
	require.Equal(t, tensor.Bytes, d.Inputs[1].DataType)

	d, err = describe("serving_default", false)
	require.NoError(t, err)
	require.Zero(t, d.MaxBatch)
	require.Equal(t, tensor.Shape{-1, 2}, d.Inputs[1].Shape)
	d, err = describe("any", false)
	require.NoError(t, err)
	require.Equal(t, tensor.Shape{-1}, d.Inputs[0].Shape)
	require.Equal(t, tensor.Int64, d.Inputs[0].DataType)
	d, err = describe("fixed", false)
	require.NoError(t, err)
	require.Equal(t, tensor.FP16, d.Inputs[0].DataType)

	for _, c := range []struct {
		signature string
		batching  bool
		want      string
	}{
		{"none", false, `Failed to find signature_name "none" in the metadata`},
		{"any", true, "Can not specify -b flag for saved model with unknown ranked inputs"},
		{"fixed", true, "Can not specify -b flag for saved model with input not having their first dim as -1"},
		{"complex", false, "unsupported datatype encountered 8 in input x"},
	} {
		_, err := describe(c.signature, c.batching)
		require.EqualError(t, err, c.want)
	}
	_, err = s.target(t, "any").(perf.Describer).Describe(t.Context(), "other", "", false)
	require.EqualError(t, err, "failed to get model metadata: Servable not found")
}

func TestTFServingPredict(t *testing.T) {
	t.Parallel()
	s := startTFServing(t, signatures)
	target := s.target(t, "serving_default")
	conn, err := target.Dial(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()

	for version, want := range map[string]string{"": "", "3": "version:{value:3} ", "stable": `version_label:"stable" `} {
		req := &kserve.Request{ModelName: "m", ModelVersion: version}
		req.AddInput()
		text := req.AddInput()
		image := &req.Inputs[0]
		image.Name, image.DataType, image.Shape = "image", tensor.FP32, tensor.Shape{2, 1}
		image.Data.Append(tensor.HeapBuffer([]byte("abcd")), 0, 4) // two items of a batch
		image.Data.Append(tensor.HeapBuffer([]byte("efgh")), 0, 4)
		text.Name, text.DataType, text.Shape = "text", tensor.Bytes, tensor.Shape{2, 1}
		for _, item := range []string{"one", ""} {
			b := tensor.AppendElementString(nil, item)
			text.Data.Append(tensor.HeapBuffer(b), 0, len(b))
		}
		p, err := target.Prepare(req)
		require.NoError(t, err)
		x := &lane.Exchange{}
		require.NoError(t, conn.Do(t.Context(), p, x))
		require.Empty(t, x.Responses)
		p.Release()
		s.mu.Lock()
		got := parse(t, "tensorflow.serving.PredictRequest", s.requests[len(s.requests)-1])
		s.mu.Unlock()
		wanted := parse(t, "tensorflow.serving.PredictRequest", `model_spec:{name:"m" signature_name:"serving_default" `+want+`}
			inputs:{key:"image" value:{dtype:1 tensor_shape:{dim:{size:2} dim:{size:1}} tensor_content:"abcdefgh"}}
			inputs:{key:"text" value:{dtype:7 tensor_shape:{dim:{size:2} dim:{size:1}} string_val:"one" string_val:""}}`)
		require.True(t, proto.Equal(wanted, got), "%s", got)
	}
}

func TestTFServingRefusals(t *testing.T) {
	t.Parallel()
	_, err := service.NewTFServing(service.TFServingOptions{})
	require.EqualError(t, err, "perf_analyzer supports only grpc protocol for TensorFlow Serving.")
	s := startTFServing(t, signatures)
	target := s.target(t, "any")
	_, err = target.PrepareSequence(&kserve.Request{})
	require.Error(t, err)
}
