package lane

import (
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// widestSequence is the longest form of the parameters of a sequence in JSON. Shorter ones
// are padded with blanks, so that the lengths in the header hold for all of them.
const (
	widestSequence = `"sequence_id":18446744073709551615,"sequence_start":false,"sequence_end":false`
	sequenceWidth  = len(widestSequence)
)

// appendSequenceJSON appends the parameters of a sequence, sequenceWidth bytes.
func appendSequenceJSON(b []byte, s Sequence) []byte {
	end := len(b) + sequenceWidth
	b = append(b, `"sequence_id":`...)
	b = strconv.AppendUint(b, s.ID, 10)
	b = append(b, `,"sequence_start":`...)
	b = strconv.AppendBool(b, s.Start)
	b = append(b, `,"sequence_end":`...)
	b = strconv.AppendBool(b, s.End)
	for len(b) < end {
		b = append(b, ' ')
	}
	return b
}

// Field numbers of ModelInferRequest, of the entries of a map, and of InferParameter.
const (
	requestParameters = 4
	entryKey          = 1
	entryValue        = 2
	parameterBool     = 1
	parameterInt64    = 2
)

// appendSequenceProto appends the parameters of a sequence as fields of a ModelInferRequest.
// Fields of a message may come in any order, so that they may follow the prepared ones.
func appendSequenceProto(b []byte, s Sequence) []byte {
	b = appendParameter(b, "sequence_id", parameterInt64, s.ID)
	b = appendParameter(b, "sequence_start", parameterBool, protowire.EncodeBool(s.Start))
	return appendParameter(b, "sequence_end", parameterBool, protowire.EncodeBool(s.End))
}

func appendParameter(b []byte, name string, kind protowire.Number, v uint64) []byte {
	value := protowire.SizeTag(kind) + protowire.SizeVarint(v)
	entry := protowire.SizeTag(entryKey) + protowire.SizeBytes(len(name)) + protowire.SizeTag(entryValue) + protowire.SizeBytes(value)
	b = protowire.AppendTag(b, requestParameters, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(entry))
	b = protowire.AppendTag(b, entryKey, protowire.BytesType)
	b = protowire.AppendString(b, name)
	b = protowire.AppendTag(b, entryValue, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(value))
	b = protowire.AppendTag(b, kind, protowire.VarintType)
	return protowire.AppendVarint(b, v)
}
