package httpapi

import (
	"errors"
	"strconv"

	"triton/pkg/kserve/rest"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

var errDecoupled = status.New(status.Unsupported, "HTTP end point doesn't support models with decoupled transaction policy")

// infer runs an inference request. Errors found before the request's own body
// is looked at go out as text/plain, as Triton's do, and those that come once the
// request was accepted.
func (a *api) infer(x *exchange, r *route) error {
	m, err := a.svc.Model(r.model, r.version)
	if err != nil {
		return err
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
	x.event("HTTP_RECV_END")
	x.form = jsonText
	req := infer.NewRequest()
	defer req.Release()
	req.ModelName, req.ModelVersion = m.Name(), m.Version()
	err = x.decoder.DecodeRequest(&req.Request, body, headerLen)
	x.id = req.ID
	if err == nil {
		err = x.forward(req)
	}
	if err != nil {
		req.Release() // the core's reference, which Infer would have used up
		return err
	}
	x.follow(req)
	m = infer.Choose(m, req)
	x.watch.start()
	resp, err := m.Infer(x.ctx, req)
	x.watch.stop()
	if err != nil {
		x.responded()
		if req.State() != infer.Decoded {
			x.form = textPlain
		}
		return err
	}
	x.respondedAt(req.Times.Answered)
	x.resp = resp
	return x.encode(m, resp, req)
}

// receive reads the body and finds out how long its JSON text is.
func (x *exchange) receive() (*tensor.Buffer, int, error) {
	switch x.header.contentEncoding {
	case "", "identity":
	case "gzip", "deflate", "zstd":
		return x.receiveCompressed()
	default:
		x.hint = true
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

// checkLength refuses what is too large before it is read.
func (x *exchange) checkLength() error {
	if x.length > maxBody {
		return status.New(status.InvalidArg, "Unable to parse Content-Length, value is out of range [ -2147483648, 2147483647 ], got: %d", x.length)
	}
	if x.length < 0 {
		return nil
	}
	n, err := x.jsonLength(int(x.length))
	if err != nil {
		return err
	}
	x.textLen = n
	if limit := x.api.maxInput; int64(n) > limit {
		x.form = jsonText
		return rest.TooLarge(int64(n), limit)
	}
	return nil
}

// jsonLength is the length of the JSON text in a body of that many bytes.
func (x *exchange) jsonLength(body int) (int, error) {
	if !x.header.hasJSONLength {
		return body, nil
	}
	v := x.header.jsonLength
	n, err := strconv.ParseInt(v, 10, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return 0, status.New(status.InvalidArg, "Unable to parse Inference-Header-Content-Length, got: %s", v)
	case n < 0 || n > int64(body):
		return 0, status.New(status.InvalidArg, "inference header size should be in range (0, %d), got: %s", body, v)
	}
	return int(n), nil
}

// encode makes the response the reply.
func (x *exchange) encode(m infer.Model, resp *infer.Response, req *infer.Request) error {
	x.encoder.Labels, x.encoder.Batched = m, m.Config().GetMaxBatchSize() > 0
	text, tail, size, err := x.encoder.EncodeResponse(x.text[:0], &resp.Response, &req.Request)
	if err != nil {
		x.form = textPlain
		return err
	}
	x.text, x.tail, x.tailSize = text, tail, size
	if size > 0 {
		x.form, x.headerSize = octetStream, len(text)
	}
	x.compress()
	return nil
}
