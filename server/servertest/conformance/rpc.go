package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/health/grpc_health_v1" // registers its description
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"triton/pkg/inferencepb"
)

func (t *Target) askGRPC(ctx context.Context, call string, head, body []string) (string, error) {
	m, err := method(call)
	if err != nil {
		return "", err
	}
	for _, h := range head {
		name, value, ok := strings.Cut(h, ": ")
		if !ok {
			return "", fmt.Errorf("%q is no metadata", h)
		}
		ctx = metadata.AppendToOutgoingContext(ctx, name, value)
	}
	var requests []proto.Message
	for _, text := range messages(body) {
		req := dynamicpb.NewMessage(m.Input())
		if err := protojson.Unmarshal([]byte(text), req); err != nil {
			return "", fmt.Errorf("the message: %w", err)
		}
		requests = append(requests, req)
	}
	if m.IsStreamingClient() {
		return t.stream(ctx, m, requests)
	}
	if len(requests) != 1 {
		return "", fmt.Errorf("%s takes one message, not %d", call, len(requests))
	}
	resp := dynamicpb.NewMessage(m.Output())
	if err := t.conn.Invoke(ctx, fullPath(m), requests[0], resp); err != nil {
		if late(ctx, err) {
			return "", context.DeadlineExceeded
		}
		return statusLine(err), nil
	}
	text, err := compact(resp)
	return "OK\n" + text, err
}

// method finds a call of the inference service by its name, or of another service by the
// full name "package.Service.Call".
func method(call string) (protoreflect.MethodDescriptor, error) {
	name := protoreflect.FullName(call)
	if name.Parent() == "" {
		name = inferencepb.File_grpc_service_proto.Services().Get(0).FullName().Append(protoreflect.Name(call))
	}
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		return nil, fmt.Errorf("call %q: %w", call, err)
	}
	m, ok := d.(protoreflect.MethodDescriptor)
	if !ok {
		return nil, fmt.Errorf("%q is no call", call)
	}
	return m, nil
}

func fullPath(m protoreflect.MethodDescriptor) string {
	return fmt.Sprintf("/%s/%s", m.Parent().FullName(), m.Name())
}

// messages splits the lines of a body at "---". An empty body is one empty
// message.
func messages(body []string) []string {
	all := []string{""}
	for _, line := range body {
		if line == "---" {
			all = append(all, "")
			continue
		}
		all[len(all)-1] += line + "\n"
	}
	for i := range all {
		if strings.TrimSpace(all[i]) == "" {
			all[i] = "{}"
		}
	}
	return all
}

// stream sends all messages, half-closes the stream and lists the responses.
func (t *Target) stream(ctx context.Context, m protoreflect.MethodDescriptor, requests []proto.Message) (string, error) {
	s, err := t.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, fullPath(m))
	if err != nil {
		return statusLine(err), nil
	}
	for _, r := range requests {
		if err := s.SendMsg(r); err != nil {
			break // RecvMsg returns the reason
		}
	}
	if err := s.CloseSend(); err != nil {
		return "", err
	}
	var b strings.Builder
	for {
		resp := dynamicpb.NewMessage(m.Output())
		err := s.RecvMsg(resp)
		if errors.Is(err, io.EOF) {
			return b.String() + "OK\n", nil
		}
		if err != nil && late(ctx, err) {
			return b.String(), context.DeadlineExceeded
		}
		if err != nil {
			return b.String() + statusLine(err), nil
		}
		text, err := compact(resp)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
	}
}

// late reports whether a call ended at its deadline, which the server may see first.
func late(ctx context.Context, err error) bool {
	return ctx.Err() != nil || status.Code(err) == codes.DeadlineExceeded
}

func statusLine(err error) string {
	st := status.Convert(err)
	return strings.TrimRight(st.Code().String()+": "+escape(st.Message()), " ") + "\n"
}

// compact is the JSON of a message with its keys sorted, so that equal messages
// are equal texts.
func compact(m proto.Message) (string, error) {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		return "", err
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return "", err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return escape(b.String()), nil
}
