package httpapi

import (
	"triton/pkg/inferencepb"
	"triton/pkg/kserve/rest"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// errNotOneResponse answers /generate when the model sent no or several responses.
var errNotOneResponse = status.New(status.Internal, "generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses")

// generate runs a model on a flat JSON object and answers with another.
func (a *api) generate(x *exchange, r *route) error {
	return a.generateWith(x, r, (*exchange).replyOnce)
}

// generateStream answers with one server-sent event per response.
func (a *api) generateStream(x *exchange, r *route) error {
	return a.generateWith(x, r, (*exchange).replyEvents)
}

// generateWith submits a request to its model and then lets reply send the responses. It
// returns only errors that occur before it calls reply.
func (a *api) generateWith(x *exchange, r *route, reply func(*exchange, *stream) error) error {
	m, err := x.acquire(r)
	if err != nil {
		return err
	}
	held := true
	defer func() {
		if held {
			m.Release()
		}
	}()
	x.sample(m.Name())
	req, err := x.receiveGenerate(m)
	if err != nil {
		return err
	}
	defer req.Release()
	s := &stream{backlog: newStreamBacklog(req, x)}
	req.Sink = s.backlog
	x.id = req.ID
	m = x.chargeAndChoose(m, req)
	if err := m.Submit(req); err != nil {
		return err
	}
	x.addLoadReport()
	x.Watch()
	err = reply(x, s)
	x.Unwatch()
	if err != nil {
		x.disconnected = true
		req.Cancel()
	}
	// If the reply has ended early, the model may still run.
	s.backlog.close(m.Release)
	held = false
	return nil
}

// receiveGenerate reads a request. Its body cannot be compressed.
func (x *exchange) receiveGenerate(m infer.Model) (*infer.Request, error) {
	if e := x.Header.ContentEncoding; e != "" && e != "identity" {
		return nil, status.New(status.InvalidArg, "Unsupported content-encoding, only 'identity' is supported.")
	}
	text, err := x.readText()
	if err != nil {
		return nil, err
	}
	defer text.Release()
	x.trace.Received()
	req := infer.NewRequest()
	req.ModelName, req.ModelVersion = m.Name(), m.Version()
	err = x.decoder.DecodeGenerate(&req.Request, text.Bytes(), schemaOf(m.Metadata()))
	if err == nil {
		err = x.requestMemory.TakeForCaller(ownSize(req.Inputs))
	}
	if err == nil {
		err = x.forward(req)
	}
	if err != nil {
		req.Discard()
		return nil, err
	}
	return req, nil
}

// readText reads a body that is all JSON.
func (x *exchange) readText() (*tensor.Buffer, error) {
	limit := x.api.maxInput
	if x.Length > limit {
		return nil, rest.TooLarge(x.Length, limit)
	}
	text, err := x.read(limit)
	if err == nil && int64(text.Len()) > limit {
		err = rest.TooLarge(int64(text.Len()), limit)
		text.Release()
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}

// schemaOf looks up inputs in a model's metadata.
func schemaOf(m *inferencepb.ModelMetadataResponse) rest.Schema {
	return func(name string) (tensor.DataType, tensor.Shape, bool) {
		for _, in := range m.Inputs {
			if in.Name == name {
				d, _ := tensor.ParseDataType(in.Datatype)
				return d, in.Shape, true
			}
		}
		return tensor.Invalid, nil, false
	}
}
