package service_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/perf"
	"triton/perf/service"
	"triton/pkg/client"
	"triton/pkg/client/lane"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startOpenAI serves answer and returns a target for it.
func startOpenAI(t *testing.T, endpoint string, answer http.HandlerFunc) perf.Target {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	target, err := service.NewOpenAI(service.OpenAIOptions{
		Options:  client.Options{Address: s.URL + "/base", Headers: map[string]string{"Authorization": "Bearer x"}},
		Endpoint: endpoint,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, target.Close()) })
	return target
}

func openAIRequest(payload string) *kserve.Request {
	req := &kserve.Request{ModelName: "m"}
	in := req.AddInput()
	in.Name, in.DataType, in.Shape = "payload", tensor.Bytes, tensor.Shape{1}
	in.Data = tensor.NewData(tensor.HeapBuffer(tensor.AppendElementString(nil, payload)))
	return req
}

// doOpenAI sends a request and keeps the response in x.
func doOpenAI(t *testing.T, target perf.Target, conn lane.Conn, payload string, x *lane.Exchange) error {
	t.Helper()
	p, err := target.Prepare(openAIRequest(payload))
	require.NoError(t, err)
	defer p.Release()
	return conn.Do(t.Context(), p, x)
}

func dial(t *testing.T, target perf.Target) lane.Conn {
	t.Helper()
	conn, err := target.Dial(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return conn
}

// text returns the output that a kept body decodes to.
func text(t *testing.T, target perf.Target, body []byte) string {
	t.Helper()
	var resp kserve.Response
	require.NoError(t, target.Decode(&lane.Exchange{Body: body}, &resp))
	data, ok := resp.Output("response").Data.Contiguous()
	require.True(t, ok)
	return string(data[4:])
}

func TestOpenAIWholeAnswers(t *testing.T) {
	t.Parallel()
	target := startOpenAI(t, "/v1/completions", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, `{"got":%s,"path":%q,"type":%q,"key":%q}`, body, r.URL.Path, r.Header.Get("Content-Type"), r.Header.Get("Authorization"))
	})
	conn := dial(t, target)
	x := &lane.Exchange{Keep: true}
	for range 3 { // over one connection
		require.NoError(t, doOpenAI(t, target, conn, `{"prompt":"hi"}`, x))
		require.Equal(t, `{"got":{"prompt":"hi"},"path":"/base/v1/completions","type":"application/json","key":"Bearer x"}`, text(t, target, x.Body))
		require.Empty(t, x.Responses)
		require.Greater(t, x.End, x.Start)
	}
}

// send writes parts of a stream, each in a packet of its own.
func send(w http.ResponseWriter, parts ...string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	for _, p := range parts {
		_, _ = io.WriteString(w, p)
		_ = http.NewResponseController(w).Flush()
	}
}

func TestOpenAIStreams(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		parts, events []string
		done          bool
	}{
		"each event in a packet": {
			[]string{"data: {\"a\":1}\n\n", "data: {\"a\":2}\n\n", "data: [DONE]\n\n"},
			[]string{"data: {\"a\":1}\n\n", "data: {\"a\":2}\n\n", "data: [DONE]\n\n"},
			true,
		},
		"events cut and joined": {
			[]string{"da", "ta: {\"a\":1}\n\ndata: {\"a\"", ":2}\n", "\ndata: [DONE]\n\n"},
			[]string{"data: {\"a\":1}\n\n", "data: {\"a\":2}\n\n", "data: [DONE]\n\n"},
			true,
		},
		"CRLF, comments and events without data": {
			[]string{": hello\r\n\r\nid: 7\r\n\r\nevent: token\r\ndata:x\r\ndata: y\r\n\r\n"},
			[]string{"event: token\r\ndata:x\r\ndata: y\r\n\r\n"},
			false,
		},
		"no DONE and no blank line at the end": {
			[]string{"data: 1\n\n", "data: 2"}, []string{"data: 1\n\n", "data: 2"}, false,
		},
		"an error that is null": {
			[]string{"data: {\"error\":null,\"text\":\"x\"}\n\n"}, []string{"data: {\"error\":null,\"text\":\"x\"}\n\n"}, false,
		},
		"nothing": {[]string{": ping\n\n"}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := startOpenAI(t, "v1/chat/completions", func(w http.ResponseWriter, _ *http.Request) { send(w, c.parts...) })
			conn := dial(t, target)
			x := &lane.Exchange{Keep: true}
			for range 2 {
				require.NoError(t, doOpenAI(t, target, conn, `{}`, x))
				var got []string
				for _, b := range x.Bodies {
					got = append(got, text(t, target, b))
				}
				require.Equal(t, c.events, got)
				require.Len(t, x.Responses, len(c.events))
				require.IsIncreasing(t, append([]int64{x.Start}, x.Responses...))
				require.GreaterOrEqual(t, x.End, append([]int64{0}, x.Responses...)[len(x.Responses)])
				require.Equal(t, c.done, x.EmptyFinal)
			}
		})
	}
}

func TestEventsHaveTheirOwnTimes(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	target := startOpenAI(t, "generate_stream", func(w http.ResponseWriter, _ *http.Request) {
		for range 3 {
			send(w, "data: x\n\n")
			<-next
		}
	})
	conn := dial(t, target)
	seen := make(chan int64)
	x := &lane.Exchange{}
	x.Observe = func() { seen <- x.Responses[len(x.Responses)-1] }
	result := make(chan error, 1)
	go func() {
		p, err := target.Prepare(openAIRequest(`{}`))
		if err == nil {
			err = conn.Do(context.Background(), p, x)
		}
		result <- err
	}()
	before := lane.Now()
	for range 3 { // the next event is not sent before the one before is seen
		at := <-seen
		require.Greater(t, at, before)
		before = lane.Now()
		next <- struct{}{}
	}
	require.NoError(t, <-result)
	require.Len(t, x.Responses, 3)
	require.Empty(t, x.Bodies, "not kept")
}

func TestOpenAIFailures(t *testing.T) {
	t.Parallel()
	hijacked := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			var c net.Conn
			c, _, _ = w.(http.Hijacker).Hijack()
			_, _ = io.WriteString(c, text)
			_ = c.Close()
		}
	}
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"status": {
			func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, `{"error":{"message":"no key"}}`, http.StatusUnauthorized)
			},
			`OpenAI response returns HTTP code 401: {"error":{"message":"no key"}}`,
		},
		"redirect": {
			func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
			"OpenAI response returns HTTP code 302",
		},
		"status of a stream": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				w.WriteHeader(http.StatusInternalServerError)
				_, _ = io.WriteString(w, "data: no luck\n\n")
			},
			"OpenAI response returns HTTP code 500: data: no luck",
		},
		"error event": {
			func(w http.ResponseWriter, _ *http.Request) {
				send(w, "data: {\"a\":1}\n\n", "event: error\ndata: out of memory\n\n")
			},
			"the OpenAI stream reports an error: out of memory",
		},
		"error object": {
			func(w http.ResponseWriter, _ *http.Request) { send(w, "data: {\"error\":{\"message\":\"x\"}}\n\n") },
			`the OpenAI stream reports an error: {"error":{"message":"x"}}`,
		},
		"broken stream": {
			hijacked(head + "9\r\ndata: a\n\n\r\n" + "40\r\ndata: b"),
			"read the response: the stream broke after 1 events: unexpected EOF",
		},
		"broken body": {
			hijacked("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}"), "read the response: unexpected EOF",
		},
		"no answer": {hijacked(""), "read the response: EOF"},
		"not HTTP":  {hijacked("SSH-2.0-x\r\n"), "not an HTTP response"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := startOpenAI(t, "v1/chat/completions", c.answer)
			err := doOpenAI(t, target, dial(t, target), `{}`, &lane.Exchange{})
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestTheLaneWorksAfterAFailure(t *testing.T) {
	t.Parallel()
	var works atomic.Bool
	target := startOpenAI(t, "x", func(w http.ResponseWriter, _ *http.Request) {
		if !works.Load() {
			send(w, "data: {\"error\":1}\n\n")
			return
		}
		send(w, "data: 1\n\n")
	})
	conn := dial(t, target)
	x := &lane.Exchange{}
	require.Error(t, doOpenAI(t, target, conn, `{}`, x))
	works.Store(true)
	require.NoError(t, doOpenAI(t, target, conn, `{}`, x))
	require.Len(t, x.Responses, 1)
}

func TestBadOpenAIOptions(t *testing.T) {
	t.Parallel()
	_, err := service.NewOpenAI(service.OpenAIOptions{Endpoint: "v1/chat completions"})
	require.EqualError(t, err, `endpoint "v1/chat completions": a path has no blanks and no control characters`)
	_, err = service.NewOpenAI(service.OpenAIOptions{Options: client.Options{Protocol: client.GRPC}})
	require.EqualError(t, err, "perf_analyzer does not support gRPC protocol with OpenAI endpoints")
}

func payloadOf(t *testing.T, req *kserve.Request) string {
	t.Helper()
	data, ok := req.Input("payload").Data.Contiguous()
	require.True(t, ok)
	return string(data[4:])
}

func TestOpenAIConversation(t *testing.T) {
	t.Parallel()
	target := startOpenAI(t, "x", nil)
	c := target.(perf.Conversationalist).Converse()
	req, err := c.Ask(openAIRequest(`{"model":"m","messages":[{"role":"user","content":"1"}],"max_tokens":2}`))
	require.NoError(t, err)
	require.Equal(t, `{"model":"m","messages":[{"role":"user","content":"1"}],"max_tokens":2}`, payloadOf(t, req))
	require.NoError(t, c.Answer(&lane.Exchange{Body: []byte(`{"choices":[{"message": {"role": "assistant", "content": "one"}}]}`)}))
	req, err = c.Ask(openAIRequest(`{"messages":[{"role":"user","content":"2"}]}`))
	require.NoError(t, err)
	require.Equal(t, `{"messages":[{"role":"user","content":"1"},{"role":"assistant","content":"one"},{"role":"user","content":"2"}]}`, payloadOf(t, req))
	require.NoError(t, c.Answer(&lane.Exchange{Responses: []int64{1, 2, 3}, Bodies: [][]byte{
		[]byte(`data: {"choices":[{"delta":{"content":"t"}}]}`), []byte(`data: {"choices":[{"delta":{"content":"wo"}}]}`), []byte("data: [DONE]"),
	}}))
	req, err = c.Ask(openAIRequest(`{"messages":[]}`))
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(payloadOf(t, req), `{"role":"user","content":"2"},{"content":"two","role":"assistant"}]}`), payloadOf(t, req))

	for _, bad := range []string{`[]`, `{}`, `{"messages":{}}`, `{"messages":null}`} {
		_, err := target.(perf.Conversationalist).Converse().Ask(openAIRequest(bad))
		require.EqualError(t, err, "Request body must be an object and it must have a 'messages' field that is an array. Request body: "+bad)
	}
	for _, bad := range []string{`{}`, `{"choices":[]}`, `x`} {
		require.ErrorContains(t, c.Answer(&lane.Exchange{Body: []byte(bad)}), "Response body must be an object and have a 'choices' field that is an array with at least one element.")
	}
	for _, bad := range []string{`{"choices":[{}]}`, `{"choices":[{"message":"x"}]}`} {
		require.ErrorContains(t, c.Answer(&lane.Exchange{Body: []byte(bad)}), "Response body 'choices' field's first element must be an object and have a 'message' field that is an object.")
	}
}
