package client

import "testing"

// FuzzDecodeHTTP wants no panic, and no output with bytes that did not come.
func FuzzDecodeHTTP(f *testing.F) {
	f.Add([]byte(`{"model_name":"m","outputs":[{"name":"Y","datatype":"UINT8","shape":[2],"parameters":{"binary_data_size":2}}]}`), []byte("ab"))
	f.Add([]byte(`{"parameters":{"a":1e400,"b":[1],"c":null},"outputs":[{"shape":[-1],"parameters":{"binary_data_size":9}}]}`), []byte("ab"))
	f.Fuzz(func(t *testing.T, text, tail []byte) {
		r, err := decodeHTTP(text, tail)
		if err != nil {
			return
		}
		n := 0
		for i := range r.Outputs {
			n += len(r.Outputs[i].Data)
			_, _ = Strings(&r.Outputs[i])
			_, _ = Values[int32](&r.Outputs[i])
		}
		if n > len(tail) {
			t.Errorf("%d bytes of outputs out of %d", n, len(tail))
		}
	})
}
