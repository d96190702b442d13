package grpcapi_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/mem"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	_ "triton/pkg/inferencepb"
)

// TestConformance compares the answers with those of NVIDIA's server.
// With TRITON_CONFORMANCE_GRPC set to the address of such a server that has the
// models of testdata/README.md, `go test -run Conformance -rewrite`
// records them again.
func TestConformance(t *testing.T) {
	var conn *grpc.ClientConn
	if addr := os.Getenv("TRITON_CONFORMANCE_GRPC"); addr != "" {
		var err error
		conn, err = grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(t, err)
		defer conn.Close()
	} else {
		conn = start(t, newStub())
	}
	datadriven.Walk(t, "testdata/conformance", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return outgoing(t, conn, d) })
	})
}

// answer makes one call. The command is the method, with its service unless it
// is the inference service; the input is the message as text, or its bytes in
// hexadecimal after "hex".
func outgoing(t *testing.T, conn *grpc.ClientConn, d *datadriven.TestData) string {
	t.Helper()
	service, name := "inference.GRPCInferenceService", d.Cmd
	if i := strings.LastIndex(name, "/"); i >= 0 {
		service, name = name[:i], name[i+1:]
	}
	in, out := messageTypes(t, service, name)
	req := encode(t, d, in)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var resp []byte
	err := conn.Invoke(ctx, "/"+service+"/"+name, req, &resp, grpc.ForceCodecV2(bytesCodec{}))
	if err != nil {
		s := grpcstatus.Convert(err)
		return fmt.Sprintf("%s: %s\n", s.Code(), s.Message())
	}
	m := dynamicpb.NewMessage(out)
	require.NoError(t, proto.Unmarshal(resp, m))
	js, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	require.NoError(t, err)
	var compact bytes.Buffer
	require.NoError(t, json.Compact(&compact, js))
	return "OK: " + compact.String() + "\n"
}

func encode(t *testing.T, d *datadriven.TestData, in protoreflect.MessageDescriptor) []byte {
	t.Helper()
	if d.HasArg("hex") {
		b, err := hex.DecodeString(strings.Join(strings.Fields(d.Input), ""))
		require.NoError(t, err, d.Pos)
		return b
	}
	m := dynamicpb.NewMessage(in)
	require.NoError(t, prototext.Unmarshal([]byte(d.Input), m), d.Pos)
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	require.NoError(t, err)
	return b
}

// messageTypes returns the messages of a method; those of an unknown one are empty.
func messageTypes(t *testing.T, service, method string) (in, out protoreflect.MessageDescriptor) {
	t.Helper()
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	if err == nil {
		if m := d.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(method)); m != nil {
			return m.Input(), m.Output()
		}
	}
	empty, err := protoregistry.GlobalFiles.FindDescriptorByName("inference.ServerLiveRequest")
	require.NoError(t, err)
	return empty.(protoreflect.MessageDescriptor), empty.(protoreflect.MessageDescriptor)
}

// bytesCodec sends and receives bytes as they are.
type bytesCodec struct{}

func (bytesCodec) Name() string { return "proto" }

func (bytesCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (bytesCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}
