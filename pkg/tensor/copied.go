package tensor

import "sync/atomic"

// copied counts the bytes of tensors that our code copies unchanged. Decoding from text
// or typed fields, compression and computation do not count, nor do copies in the
// transport below.
type copied struct{ toModel, toClient atomic.Int64 }

// CopiedToModel counts bytes copied from a transport's buffer for a model.
func (p *Pool) CopiedToModel(n int) {
	if n > 0 {
		p.copied.toModel.Add(int64(n))
	}
}

// CopiedToClient counts bytes copied from a model to a transport's buffer or to memory
// that the client shares.
func (p *Pool) CopiedToClient(n int) {
	if n > 0 {
		p.copied.toClient.Add(int64(n))
	}
}

// Copied returns the bytes counted so far.
func (p *Pool) Copied() (toModel, toClient int64) {
	return p.copied.toModel.Load(), p.copied.toClient.Load()
}
