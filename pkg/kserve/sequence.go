package kserve

import "triton/pkg/status"

// maxSequenceID limits a correlation id that is a text, in bytes.
const maxSequenceID = 128

// SetSequenceText makes a text the correlation id.
func (r *Request) SetSequenceText(id string) error {
	if len(id) > maxSequenceID {
		return status.New(status.Unsupported, "string correlation ID cannot be longer than %d characters", maxSequenceID)
	}
	r.SequenceID, r.SequenceIDStr = 0, id
	return nil
}
