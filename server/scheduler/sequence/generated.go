package sequence

import (
	"crypto/rand"
	"encoding/binary"
	"strconv"
	"sync/atomic"

	"triton/pkg/tensor"
	"triton/server/infer"
)

const (
	generatedText = "generated-"
	maxGenerated  = len(generatedText) + 16 // in hexadecimal digits
)

// generated counts the correlation IDs that this process has generated, for all models.
var generated atomic.Uint32

// prefix is the upper half of all generated numbers: random, so that no client guesses
// one, and with the highest bit set, which clients rarely set.
var prefix = func() uint64 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return uint64(binary.LittleEndian.Uint32(b[:])|1<<31) << 32
}()

// generate gives a request without a correlation ID a new one, and makes it the start of a
// sequence. No request of a client can join that sequence, because an id in the table of
// sequences records whether it was generated. Backends do not see that, only the number or
// the text. So the number is unlikely to be one that a client uses:
//
//	bits 63..32  the process's random number, highest bit 1
//	bit  31      1: a backend that reads only 32 bits of the number does not
//	             mistake it for a client's sequence 1, 2 or 3
//	bits 30..0   a count over all models of the process
func (s *Source) generate(r *infer.Request) id {
	for {
		number := prefix | 1<<31 | uint64(generated.Add(1)&(1<<31-1))
		i := id{number: number, generated: true}
		if s.controls.correlationID != nil && s.controls.correlationID.dataType == tensor.Bytes {
			i = id{text: generatedText + strconv.FormatUint(number, 16), generated: true}
		}
		if s.mu.known[i] != nil { // after 2^31 other IDs
			continue
		}
		r.SequenceID, r.SequenceIDStr, r.SequenceStart, r.SequenceEnd = i.number, i.text, true, false
		return i
	}
}
