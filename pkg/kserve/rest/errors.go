package rest

import (
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// malformed returns the error of JSON of another form than the protocol's, in Triton's words. Triton
// reports it as an internal error, HTTP status 500; it is the client's mistake.
func malformed(text string) error { return &status.Error{Code: status.InvalidArg, Msg: text} }

// withContext adds the context that Triton puts before an error.
func withContext(context string, err error) error {
	return &status.Error{Code: status.CodeOf(err), Msg: context + ": " + err.Error()}
}

func unparsable(name string, err error) error { return withContext("Unable to parse '"+name+"'", err) }

func missing(name string) error {
	return malformed("Unable to parse '" + name + "': attempt to access non-existing object member '" + name + "'")
}

func noHalfInput(d tensor.DataType, input string) error {
	return status.New(status.InvalidArg, "receiving %s data via JSON is not supported. Please use the binary data format for input %s", d, input)
}

// TooLarge returns the error of a JSON text of n bytes over the limit.
func TooLarge(n, limit int64) error {
	return status.New(status.InvalidArg, "request JSON size of %d bytes exceeds the maximum allowed input size of %d bytes."+
		" Use --http-max-input-size to increase the limit.", n, limit)
}
