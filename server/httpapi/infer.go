package httpapi

import (
	"errors"
	"math"
	"slices"
	"strconv"

	"triton/pkg/kserve"
	"triton/pkg/kserve/rest"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/http1"
	"triton/server/infer"
)

var errDecoupled = status.New(status.Unsupported, "HTTP end point doesn't support models with decoupled transaction policy")

// infer runs an inference request. As in Triton, errors are text/plain when they are found before
// the body is decoded or after the request was accepted.
func (a *api) infer(x *exchange, r *route) error {
	m, err := a.svc.Model(r.model, r.version)
	if err != nil {
		return a.inferUnloaded(x, r, err)
	}
	defer func() { m.Release() }()
	if m.Config().GetModelTransactionPolicy().GetDecoupled() {
		return errDecoupled
	}
	x.sample(m.Name())
	body, headerLen, err := x.receive()
	if err != nil {
		return err
	}
	defer body.Release()
	x.trace.Received()
	x.ContentType = http1.JSON
	req := infer.NewRequest()
	defer req.Release()
	req.ModelName, req.ModelVersion = m.Name(), m.Version()
	err = x.decode(req, body, headerLen)
	if err == nil {
		err = x.forward(req)
	}
	if err != nil {
		req.Release() // the core's reference, which Infer would have released
		return err
	}
	x.trace.Attach(req)
	x.count(m, req)
	m = infer.ChooseBy(m, req, x)
	return x.run(m, req)
}

// decode reads a request. For its caller it counts the inputs that are not part of the body.
func (x *exchange) decode(req *infer.Request, body *tensor.Buffer, textLen int) error {
	err := x.decoder.DecodeRequest(&req.Request, body, textLen)
	x.id = req.ID
	if err == nil && x.caller != nil {
		err = x.decoded.Hold(ownSize(req.Inputs) - (body.Len() - textLen))
	}
	return err
}

// ownSize returns the bytes of tensors that are not in the shared memory of clients.
func ownSize(ts []kserve.Tensor) int {
	n := 0
	for i := range ts {
		if !ts[i].Data.Foreign() {
			n += ts[i].Data.Len()
		}
	}
	return n
}

// run runs a decoded request and makes the reply.
func (x *exchange) run(m infer.Model, req *infer.Request) error {
	x.Watch()
	resp, err := m.Infer(x.Context, req)
	x.Unwatch()
	if err != nil {
		x.answered(0)
		if req.State() != infer.Decoded {
			x.ContentType = http1.TextPlain
		}
		return err
	}
	x.answered(req.Times.Answered)
	x.resp = resp
	if err := x.replied.Hold(resp.Size()); err != nil {
		return err
	}
	return x.encode(m, resp, req)
}

// receive reads the body. It returns it with the length of its JSON text.
func (x *exchange) receive() (*tensor.Buffer, int, error) {
	switch x.Header.ContentEncoding {
	case "", "identity":
	case "gzip", "deflate", "zstd":
		return x.receiveCompressed()
	default:
		x.Extra = slices.Insert(x.Extra, 0, http1.Field{Name: "Accept-Encoding", Value: "gzip, deflate"})
		return nil, 0, status.New(status.Unsupported, "Unsupported compression type")
	}
	if err := x.checkLength(); err != nil {
		return nil, 0, err
	}
	body, err := x.read(maxBody)
	if err != nil {
		return nil, 0, err
	}
	n, err := x.jsonLength(body.Len())
	if err != nil {
		body.Release()
		return nil, 0, err
	}
	return body, n, nil
}

// checkLength refuses a body that is too large before it is read.
func (x *exchange) checkLength() error {
	if x.Length > maxBody {
		return status.New(status.InvalidArg, "Unable to parse Content-Length, value is out of range [ -2147483648, 2147483647 ], got: %d", x.Length)
	}
	if x.Length < 0 {
		return nil
	}
	n, err := x.jsonLength(int(x.Length))
	if err != nil {
		return err
	}
	x.textLen = n
	if limit := x.api.maxInput; int64(n) > limit {
		x.ContentType = http1.JSON
		return rest.TooLarge(int64(n), limit)
	}
	return nil
}

// jsonLength returns the length of the JSON text in a body of that many bytes.
func (x *exchange) jsonLength(body int) (int, error) {
	if !x.Header.HasJSONLength {
		return body, nil
	}
	v := x.Header.JSONLength
	n, err := strconv.ParseInt(v, 10, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return 0, status.New(status.InvalidArg, "Unable to parse Inference-Header-Content-Length, got: %s", v)
	case n < math.MinInt32 || n > math.MaxInt32:
		return 0, status.New(status.InvalidArg, "Unable to parse Inference-Header-Content-Length, value is out of range [ %d, %d ], got: %s",
			math.MinInt32, math.MaxInt32, v)
	case n < 0 || n > int64(body):
		return 0, status.New(status.InvalidArg, "inference header size should be in range (0, %d), got: %s", body, v)
	}
	return int(n), nil
}

// keepText returns the memory that was taken for the text and is not in it.
func (x *exchange) keepText() {
	if more := x.replied.Bytes() - cap(x.Text); more > 0 {
		x.replied.Return(more)
	}
}

// encode makes the reply from the response.
func (x *exchange) encode(m infer.Model, resp *infer.Response, req *infer.Request) error {
	if err := x.replied.Take(rest.TextSize(&resp.Response, &req.Request)); err != nil {
		return err
	}
	x.encoder.Labels, x.encoder.Batched = m, m.Config().GetMaxBatchSize() > 0
	text, tail, size, err := x.encoder.EncodeResponse(x.Text[:0], &resp.Response, &req.Request)
	if err != nil {
		x.ContentType = http1.TextPlain
		return err
	}
	x.Text, x.tail, x.tailSize = text, tail, size
	x.keepText()
	if size > 0 {
		x.ContentType, x.JSONSize = http1.OctetStream, len(text)
	}
	x.compress()
	return nil
}
