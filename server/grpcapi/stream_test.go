package grpcapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"triton/pkg/inferencepb"
	"triton/server/grpcapi"
)

// TestStreams compares the responses of streams with those of NVIDIA's server.
// TRITON_STREAM_GRPC and -rewrite record a server with testdata/stream/model.py
// as the models "one" and "dec", started with --grpc-header-forward-pattern=my-.*
func TestStreams(t *testing.T) {
	t.Parallel()
	conn, ours := streamTarget(t)
	datadriven.RunTest(t, "testdata/stream/cases", func(t *testing.T, d *datadriven.TestData) string {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for _, a := range d.CmdArgs {
			for _, v := range a.Vals {
				ctx = metadata.AppendToOutgoingContext(ctx, a.Key, v)
			}
		}
		stream, err := inferencepb.NewGRPCInferenceServiceClient(conn).ModelStreamInfer(ctx)
		require.NoError(t, err)
		for line := range strings.Lines(d.Input) {
			require.NoError(t, stream.Send(scriptRequest(line)))
		}
		if ours {
			// The stream may have ended at an error before.
			_ = stream.Send(&inferencepb.ModelInferRequest{ModelName: "barrier", Id: "barrier"})
		}
		require.NoError(t, stream.CloseSend())
		return transcript(stream)
	})
}

func streamTarget(t *testing.T) (conn *grpc.ClientConn, ours bool) {
	t.Helper()
	addr := os.Getenv("TRITON_STREAM_GRPC")
	if addr == "" {
		s := newScripted()
		return serve(t, s, s.stub, func(o *grpcapi.Options) { o.Forward = regexp.MustCompile("(?i)my-.*") }), true
	}
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn, false
}

// scriptRequest reads "model[:version] id | script | parameters".
func scriptRequest(line string) *inferencepb.ModelInferRequest {
	parts := strings.Split(strings.TrimSuffix(line, "\n"), "|")
	name, id, _ := strings.Cut(strings.TrimSpace(parts[0]), " ")
	name, version, _ := strings.Cut(name, ":")
	r := &inferencepb.ModelInferRequest{ModelName: name, ModelVersion: version, Id: strings.TrimSpace(id)}
	if script := strings.TrimSpace(parts[1]); script != "-" {
		r.Inputs = []*inferencepb.ModelInferRequest_InferInputTensor{{Name: "S", Datatype: "BYTES", Shape: []int64{1}}}
		r.RawInputContents = [][]byte{append([]byte{byte(len(script)), 0, 0, 0}, script...)}
	}
	if len(parts) > 2 {
		r.Parameters = map[string]*inferencepb.InferParameter{}
		for w := range strings.FieldsSeq(parts[2]) {
			name, value, _ := strings.Cut(w, "=")
			if name == "empty" {
				r.Parameters["triton_enable_empty_final_response"] = boolParam(true)
				continue
			}
			n, _ := strconv.ParseInt(value, 10, 64)
			r.Parameters[name] = &inferencepb.InferParameter{ParameterChoice: &inferencepb.InferParameter_Int64Param{Int64Param: n}}
		}
	}
	return r
}

func boolParam(v bool) *inferencepb.InferParameter {
	return &inferencepb.InferParameter{ParameterChoice: &inferencepb.InferParameter_BoolParam{BoolParam: v}}
}

var raised = regexp.MustCompile(`Failed to process the request\(s\)(?s:.*)execute(\\n|\n)`)

// transcript returns all that a stream answers.
func transcript(stream grpc.BidiStreamingClient[inferencepb.ModelInferRequest, inferencepb.ModelStreamInferResponse]) string {
	var b strings.Builder
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			fmt.Fprintln(&b, "OK")
			return b.String()
		}
		if err != nil {
			s := grpcstatus.Convert(err)
			fmt.Fprintf(&b, "%s: %s\n", s.Code(), raised.ReplaceAllString(s.Message(), "raised"))
			return b.String()
		}
		if m.GetInferResponse().GetId() == "barrier" {
			continue
		}
		js, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
		var compact bytes.Buffer
		if err == nil {
			err = json.Compact(&compact, js)
		}
		fmt.Fprintf(&b, "%s\n", raised.ReplaceAllString(compact.String(), "raised"))
		if err != nil {
			fmt.Fprintln(&b, err)
		}
	}
}
