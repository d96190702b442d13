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
	defer func() { m.Release() }() // m changes: chargeAndChoose
	if m.Config().Decoupled() {
		return errDecoupled
	}
	x.sample(m.Name())
	body, textLen, err := x.receive()
	if err != nil {
		return err
	}
	defer body.Release()
	x.trace.Received()
	req, err := x.decode(m.Name(), m.Version(), body, textLen)
	if err != nil {
		return err
	}
	if err := x.forward(req); err != nil {
		req.Discard()
		return err
	}
	m = x.chargeAndChoose(m, req)
	return x.run(m, req)
}

// decode makes a request of a body. For its caller it counts the inputs that are not part of the body.
func (x *exchange) decode(model, version string, body *tensor.Buffer, textLen int) (*infer.Request, error) {
	x.ContentType = http1.JSON
	req := infer.NewRequest()
	req.ModelName, req.ModelVersion = model, version
	err := x.decoder.DecodeRequest(&req.Request, body, textLen)
	x.id = req.ID
	if err == nil && x.caller != nil {
		err = x.requestMemory.TakeForCaller(ownSize(req.Inputs) - (body.Len() - textLen))
	}
	if err != nil {
		req.Discard()
		return nil, err
	}
	return req, nil
}

// chargeAndChoose traces a request, charges the quotas of its caller, and returns the model that answers it in place of m.
func (x *exchange) chargeAndChoose(m infer.Model, req *infer.Request) infer.Model {
	x.trace.Attach(req)
	x.chargeQuotas(m, req)
	return infer.ChooseBy(m, req, x)
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

// run runs a request and makes the reply. It releases the request.
func (x *exchange) run(m infer.Model, req *infer.Request) error {
	defer req.Release()
	x.Watch()
	resp, err := m.Infer(x.Context, req)
	x.Unwatch()
	if err != nil {
		x.answered(0)
		if accepted := req.State() != infer.Decoded; accepted {
			x.ContentType = http1.TextPlain
		}
		return err
	}
	x.answered(req.Times.Answered)
	x.resp = resp
	if err := x.replyMemory.TakeForCaller(resp.Size()); err != nil {
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
	return x.withTextLength(body)
}

// withTextLength adds the length of the JSON text to a body. A body may be shorter than announced, or
// its length was not known before.
func (x *exchange) withTextLength(body *tensor.Buffer) (*tensor.Buffer, int, error) {
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

// returnSpareText returns the memory that was taken for the text and is not in it.
func (x *exchange) returnSpareText() {
	if more := x.replyMemory.Bytes() - cap(x.Text); more > 0 {
		x.replyMemory.Return(more)
	}
}

// encode makes the reply from the response.
func (x *exchange) encode(m infer.Model, resp *infer.Response, req *infer.Request) error {
	if err := x.replyMemory.Take(rest.TextSize(&resp.Response, &req.Request)); err != nil {
		return err
	}
	x.encoder.Labels, x.encoder.Batched = m, m.Config().GetMaxBatchSize() > 0
	text, tail, size, err := x.encoder.EncodeResponse(x.Text[:0], &resp.Response, &req.Request)
	if err != nil {
		x.ContentType = http1.TextPlain
		return err
	}
	x.Text, x.tailSegments, x.tailSize = text, tail, size
	x.returnSpareText()
	if size > 0 {
		x.ContentType, x.JSONSize = http1.OctetStream, len(text)
	}
	x.compress()
	return nil
}
