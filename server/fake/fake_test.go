package fake_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/client"
	"triton/pkg/status"
	"triton/server/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const one = `input { name: "X" data_type: TYPE_INT32 dims: [ 1 ] } output { name: "X" data_type: TYPE_INT32 dims: [ 1 ] }`

func dial(t *testing.T, s *fake.Server, p client.Protocol) *client.Client {
	t.Helper()
	address := s.HTTP()
	if p == client.GRPC {
		address = s.GRPC()
	}
	c, err := client.New(client.Options{Protocol: p, Address: address})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func ask(model string) *client.Request {
	return &client.Request{Model: model, ID: "a", Inputs: []client.Tensor{client.NewTensor("X", []int64{1}, int32(7))}}
}

// What a function does wrong is the error of its request, and says which model it was.
func TestMistakesOfFunctions(t *testing.T) {
	s := fake.New(t, map[string]fake.Model{
		"panics": {Config: one, Answer: func(context.Context, *client.Request, func(*client.Response) error) error { panic("no") }},
		"silent": {Config: one, Answer: func(context.Context, *client.Request, func(*client.Response) error) error { return nil }},
		"twice": {Config: one, Answer: func(_ context.Context, req *client.Request, send func(*client.Response) error) error {
			return errors.Join(send(&client.Response{Outputs: req.Inputs}), send(&client.Response{Outputs: req.Inputs}))
		}},
		"type": {Config: one, Answer: fake.Unary(func(context.Context, *client.Request) (*client.Response, error) {
			return &client.Response{Outputs: []client.Tensor{{Name: "X", Datatype: "INT"}}}, nil
		})},
		"parameter": {Config: one, Answer: fake.Unary(func(context.Context, *client.Request) (*client.Response, error) {
			return &client.Response{Parameters: map[string]any{"p": 1.5i}}, nil
		})},
		"code": {Config: one, Answer: fake.Unary(func(context.Context, *client.Request) (*client.Response, error) {
			return nil, status.New(status.NotFound, "the page is gone")
		})},
	})
	for _, p := range []client.Protocol{client.HTTP, client.GRPC} {
		c := dial(t, s, p)
		for model, text := range map[string]string{
			"panics":    "the test's model 'panics' has panicked: no",
			"silent":    "the test's model 'silent' sent 0 responses; a model that is not decoupled sends one",
			"twice":     "the test's model 'twice' sent 2 responses; a model that is not decoupled sends one",
			"type":      `output "X" has the unknown data type "INT"`,
			"parameter": `parameter "p": the value is a complex128`,
			"code":      "the page is gone",
		} {
			_, err := c.Infer(t.Context(), ask(model))
			require.ErrorContains(t, err, text)
		}
		_, err := c.Infer(t.Context(), ask("code"))
		var e *status.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, status.NotFound, e.Code)
	}
}

// A request that a client cancels ends the context of its function, and so does Close.
func TestContexts(t *testing.T) {
	begun, ended := make(chan bool), make(chan error)
	s, err := fake.Start(t.Context(), map[string]fake.Model{"waits": {Config: one, Answer: func(ctx context.Context, _ *client.Request, _ func(*client.Response) error) error {
		begun <- true
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	}}})
	require.NoError(t, err)
	c := dial(t, s, client.GRPC)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	_, err = c.Infer(ctx, ask("waits"))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Len(t, s.Requests("waits"), 1)
	require.NoError(t, s.Close())
}

func TestStreams(t *testing.T) {
	s := fake.New(t, map[string]fake.Model{"counts": {
		Config: `model_transaction_policy { decoupled: true } ` + one,
		Answer: func(_ context.Context, req *client.Request, send func(*client.Response) error) error {
			for i := range int32(3) {
				if err := send(&client.Response{Outputs: []client.Tensor{client.NewTensor("X", []int64{1}, i)}}); err != nil {
					return err
				}
			}
			if req.ID == "a" {
				return status.New(status.Internal, "broken after three")
			}
			return nil
		},
	}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stream, err := dial(t, s, client.GRPC).InferStream(ctx)
	require.NoError(t, err)
	defer stream.Close()
	for _, id := range []string{"a", "b"} {
		req := ask("counts")
		req.ID = id
		require.NoError(t, stream.Send(req))
	}
	require.NoError(t, stream.CloseSend())
	responses, failures := 0, 0
	for {
		_, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			require.ErrorContains(t, err, "broken after three")
			failures++
			continue
		}
		responses++
	}
	require.Equal(t, []int{6, 1}, []int{responses, failures})
}

func TestStartFails(t *testing.T) {
	_, err := fake.Start(t.Context(), map[string]fake.Model{"m": {Config: one}})
	require.EqualError(t, err, `model "m" has no Answer`)
	_, err = fake.Start(t.Context(), map[string]fake.Model{"m": {Config: "input {", Answer: fake.Unary(nil)}})
	require.ErrorContains(t, err, "m")
}
