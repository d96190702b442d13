package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"triton/pkg/client"
)

// patience is the time in which a request must end. A request that takes longer is lost.
const patience = 20 * time.Second

// connection is a client over both protocols.
type connection struct{ http, grpc *client.Client }

func connect(s Server) (*connection, error) {
	h, err := client.New(client.Options{Protocol: client.HTTP, Address: s.HTTP})
	if err != nil {
		return nil, err
	}
	g, err := client.New(client.Options{Protocol: client.GRPC, Address: s.GRPC})
	if err != nil {
		return nil, err
	}
	return &connection{h, g}, nil
}

func (c *connection) close() {
	_ = c.http.Close()
	_ = c.grpc.Close()
}

// request returns a request of random values.
func request(m Model, version int, id string, values []int64) *client.Request {
	r := &client.Request{Model: m.Name, ID: id, Inputs: []client.Tensor{
		client.NewTensor("INPUT0", []int64{1, int64(len(values))}, values...),
	}}
	if version != 0 {
		r.Version = fmt.Sprint(version)
	}
	return r
}

// read returns what a response says. The error is about the response, not of the server.
func read(m Model, id string, values []int64, resp *client.Response) (version int, edition int64, err error) {
	if resp.ID != id || resp.Model != m.Name {
		return 0, 0, fmt.Errorf("request %s of %s got the answer to request %s of %s", id, m.Name, resp.ID, resp.Model)
	}
	if _, err := fmt.Sscan(resp.Version, &version); err != nil {
		return 0, 0, fmt.Errorf("the answer names no version: %q", resp.Version)
	}
	out := resp.Output("OUTPUT0")
	if out == nil {
		return 0, 0, errors.New("the answer has no OUTPUT0")
	}
	got, err := client.Values[int64](out)
	if err != nil {
		return 0, 0, err
	}
	if len(got) != len(values) {
		return 0, 0, fmt.Errorf("%d values for %d", len(got), len(values))
	}
	edition = got[0] - values[0]
	for i := range got {
		if got[i]-values[i] != edition {
			return 0, 0, fmt.Errorf("values %v for %v", got, values)
		}
	}
	if !m.numbered() && m.source == "" {
		if edition != 0 {
			return 0, 0, fmt.Errorf("values %v for %v", got, values)
		}
		edition = int64(version)
	}
	return version, edition, nil
}

// ask sends one request and returns how it ended, as an answer for the oracle.
func (w *world) ask(ctx context.Context, c *client.Client, m Model, version int, id string, values []int64) answer {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	a := answer{model: m.Name, source: m.source, asked: version, sent: time.Now()}
	resp, err := c.Infer(ctx, request(m, version, id, values))
	a.received, a.err = time.Now(), err
	if err == nil {
		if a.version, a.edition, err = read(m, id, values, resp); err != nil {
			w.oracle.wrongf("%s over %v: wrong answer: %v", m.Name, c.Protocol(), err)
		}
	}
	return a
}
