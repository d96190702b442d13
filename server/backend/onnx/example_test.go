package onnx_test

import (
	"os"

	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/backend/onnx"
)

// A program that embeds the server decrypts the files of its models.
func ExampleNewWithReader() {
	open := func(sealed []byte) ([]byte, error) { // stands for the program's cipher
		return nil, status.New(status.Unavailable, "no key for %d bytes", len(sealed))
	}
	read := func(path string) ([]byte, error) {
		sealed, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		return open(sealed)
	}
	backends := backend.Set{}
	backends[onnx.Name] = onnx.NewWithReader(onnx.Search{Getenv: os.Getenv}, read) // in server.Options
}
