package lane

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of ModelStreamInferResponse and ModelInferResponse.
const (
	streamError        = 1
	streamResponse     = 2
	responseParameters = 4
	responseOutputs    = 5
)

// streamMessage has the parts of a message of a stream that a lane needs.
type streamMessage struct {
	failure  string // the server's text; empty: none
	response []byte // the ModelInferResponse
	final    bool   // no other response follows
	outputs  bool   // it has outputs
}

var errStreamMessage = errors.New("the stream's message is not protobuf")

// readStreamMessage reads a ModelStreamInferResponse without decoding its tensors. The
// response refers to b.
func readStreamMessage(b []byte) (streamMessage, error) {
	m := streamMessage{final: true}
	err := eachField(b, func(field protowire.Number, value []byte) error {
		switch field {
		case streamError:
			m.failure = string(value)
		case streamResponse:
			m.response = value
		}
		return nil
	})
	if err != nil {
		return m, err
	}
	err = eachField(m.response, func(field protowire.Number, value []byte) error {
		switch field {
		case responseOutputs:
			m.outputs = true
		case responseParameters:
			return readFinal(value, &m.final)
		}
		return nil
	})
	return m, err
}

// readFinal reads an entry of the map of parameters and sets final if it is
// triton_final_response.
func readFinal(entry []byte, final *bool) error {
	var key, value []byte
	err := eachField(entry, func(field protowire.Number, v []byte) error {
		switch field {
		case entryKey:
			key = v
		case entryValue:
			value = v
		}
		return nil
	})
	if err != nil || string(key) != "triton_final_response" {
		return err
	}
	*final = false
	for len(value) > 0 {
		field, kind, n := protowire.ConsumeTag(value)
		if n < 0 {
			return errStreamMessage
		}
		value = value[n:]
		if field == parameterBool && kind == protowire.VarintType {
			v, n := protowire.ConsumeVarint(value)
			if n < 0 {
				return errStreamMessage
			}
			*final, value = protowire.DecodeBool(v), value[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(field, kind, value); n < 0 {
			return errStreamMessage
		}
		value = value[n:]
	}
	return nil
}

// eachField calls f for the fields of a message that have a length.
func eachField(b []byte, f func(field protowire.Number, value []byte) error) error {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errStreamMessage
		}
		b = b[n:]
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(field, kind, b); n < 0 {
				return errStreamMessage
			}
			b = b[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return errStreamMessage
		}
		b = b[n:]
		if err := f(field, value); err != nil {
			return fmt.Errorf("field %d: %w", field, err)
		}
	}
	return nil
}
