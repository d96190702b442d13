package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Target is the server under test.
type Target struct {
	http    string
	metrics string
	// repository is the folder that the server reads its models from.
	repository string
	web        *http.Client
	conn       *grpc.ClientConn
}

// Dial makes a target of two addresses "host:port".
func Dial(httpAddr, grpcAddr string) (*Target, error) {
	conn, err := grpc.NewClient(grpcAddr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	return &Target{http: httpAddr, conn: conn, web: &http.Client{Transport: &http.Transport{DisableCompression: true}}}, nil
}

// Metrics sets the address "host:port" of the metrics, for questions about them.
func (t *Target) Metrics(addr string) { t.metrics = addr }

// Close ends the connections.
func (t *Target) Close() {
	t.web.CloseIdleConnections()
	_ = t.conn.Close()
}

// Ask sends a question and returns the answer as text, with the parts masked that differ
// from run to run. A connection that the server has closed is an answer; an error means
// that the question is not valid.
func (t *Target) Ask(ctx context.Context, s *Step) (string, error) {
	first, limit, err := within(s.Ask[0])
	if err != nil {
		return "", fmt.Errorf("line %d: %w", s.Line, err)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	kind, rest, _ := strings.Cut(first, " ")
	head, body := split(s.Ask[1:])
	var answer string
	switch kind {
	case "http":
		answer, err = t.askHTTP(ctx, rest, head, body)
	case "grpc":
		answer, err = t.askGRPC(ctx, rest, head, body)
	case "metrics":
		answer, err = t.askMetrics(ctx, rest)
	case "raw":
		answer, err = t.askRaw(ctx, s.Ask[1:])
	case "edit":
		answer, err = t.edit(rest, body)
	case "calm":
		answer, err = t.calm(ctx)
	case "settle":
		answer, err = t.settle(ctx, rest)
	default:
		err = fmt.Errorf("a question begins with http, grpc, metrics, raw, edit, calm or settle, not with %q", kind)
	}
	if errors.Is(err, context.DeadlineExceeded) && limit < patience {
		answer, err = answer+noAnswer, nil
	}
	if err != nil {
		return "", fmt.Errorf("line %d: %w", s.Line, err)
	}
	return mask(answer), nil
}

// patience is the time limit of an answer. A load starts processes, which takes long on a busy machine.
const patience = 2 * time.Minute

const noAnswer = "no answer in time\n"

// Expecting returns the question as it is asked where this answer is expected: the time limit is only for
// servers that are known not to answer. An answer may take longer than that on a busy machine.
func (s *Step) Expecting(answer string) *Step {
	rest, _, err := within(s.Ask[0])
	if err != nil || strings.HasSuffix(answer, noAnswer) {
		return s // Ask reports the error
	}
	patient := *s
	patient.Ask = append([]string{rest}, s.Ask[1:]...)
	return &patient
}

// within cuts a time limit off the first line of a question, such as "within 500ms: ".
func within(first string) (rest string, limit time.Duration, err error) {
	text, ok := strings.CutPrefix(first, "within ")
	if !ok {
		return first, patience, nil
	}
	text, rest, _ = strings.Cut(text, ": ")
	limit, err = time.ParseDuration(text)
	return rest, limit, err
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
