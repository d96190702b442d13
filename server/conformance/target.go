package conformance

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Target is the server under test.
type Target struct {
	http string
	web  *http.Client
	conn *grpc.ClientConn
}

// Dial makes a target of two addresses "host:port".
func Dial(httpAddr, grpcAddr string) (*Target, error) {
	conn, err := grpc.NewClient(grpcAddr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	return &Target{http: httpAddr, conn: conn, web: &http.Client{Transport: &http.Transport{DisableCompression: true}}}, nil
}

// Close ends the connections.
func (t *Target) Close() {
	t.web.CloseIdleConnections()
	_ = t.conn.Close()
}

// Ask sends a question and returns the answer as text, with the parts masked that differ
// from run to run. A connection that the server has closed is an answer; an error means
// that the question is not valid.
func (t *Target) Ask(ctx context.Context, s *Step) (string, error) {
	kind, rest, _ := strings.Cut(s.Ask[0], " ")
	head, body := split(s.Ask[1:])
	var answer string
	var err error
	switch kind {
	case "http":
		answer, err = t.askHTTP(ctx, rest, head, body)
	case "grpc":
		answer, err = t.askGRPC(ctx, rest, head, body)
	case "raw":
		answer, err = t.askRaw(ctx, s.Ask[1:])
	default:
		err = fmt.Errorf("a question begins with http, grpc or raw, not with %q", kind)
	}
	if err != nil {
		return "", fmt.Errorf("line %d: %w", s.Line, err)
	}
	return mask(answer), nil
}

// split splits the lines of a question at the first empty line.
func split(lines []string) (head, body []string) {
	for i, l := range lines {
		if l == "" {
			return lines[:i], lines[i+1:]
		}
	}
	return lines, nil
}
