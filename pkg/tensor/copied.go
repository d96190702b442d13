package tensor

import "sync/atomic"

// copied counts the bytes of tensors that were copied as they are, by code of
// ours. What is decoded from text or typed fields, compressed or computed is no
// copy, nor is what the transport does below.
type copied struct{ toModel, toClient atomic.Int64 }

// CopiedToModel counts bytes on their way from a transport's buffer to a model.
func (p *Pool) CopiedToModel(n int) {
	if n > 0 {
		p.copied.toModel.Add(int64(n))
	}
}

// CopiedToClient counts bytes on their way from a model to a transport's buffer
// or to memory that the client shares.
func (p *Pool) CopiedToClient(n int) {
	if n > 0 {
		p.copied.toClient.Add(int64(n))
	}
}

// Copied returns what was counted so far, in bytes.
func (p *Pool) Copied() (toModel, toClient int64) {
	return p.copied.toModel.Load(), p.copied.toClient.Load()
}
