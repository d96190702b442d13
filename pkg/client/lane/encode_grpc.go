package lane

import (
	"google.golang.org/grpc/encoding"

	"triton/pkg/kserve"
)

func (c *grpcClient) prepare(req *kserve.Request, at Regions, sequence bool) (*Prepared, error) {
	if req.Raw {
		return nil, errRaw
	}
	if at.used() {
		return c.prepareShared(req, at, sequence)
	}
	encoded := c.codec.EncodeRequest(req)
	p := &Prepared{size: encoded.Len(), sequence: sequence, addSequence: sequence}
	if p.size <= flatBytes {
		p.message.parts = [][]byte{encoded.Materialize()}
		encoded.Free()
		return p, c.compress(p)
	}
	for _, b := range encoded {
		p.message.parts = append(p.message.parts, b.ReadOnlyData())
	}
	p.release = encoded.Free
	return p, c.compress(p)
}

// compress compresses the messages of a request once for all sends. One that gets the parameters of a
// sequence at each send is compressed then.
func (c *grpcClient) compress(p *Prepared) error {
	if c.compression == "" || p.addSequence {
		return nil
	}
	by := encoding.GetCompressor(c.compression)
	if err := p.message.compress(by); err != nil {
		return err
	}
	for i := range p.messages {
		if err := p.messages[i].compress(by); err != nil {
			return err
		}
	}
	return nil
}

// message is an encoded message: the parts, joined.
type message struct {
	parts      [][]byte
	compressed bool
}

// compress compresses a message that is not empty.
func (m *message) compress(by encoding.Compressor) error {
	size := 0
	for _, p := range m.parts {
		size += len(p)
	}
	if size == 0 {
		return nil
	}
	b, err := compress(nil, by, m.parts)
	m.parts, m.compressed = [][]byte{b}, true
	return err
}
