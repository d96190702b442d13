//go:build !cgo || !linux

package inprocess

import (
	"unsafe"

	"triton/server/infer"
)

// Server does nothing: this program has no C code.
type Server struct{}

// New returns a server that C code cannot reach.
func New(Options) *Server { return &Server{} }

// Handle returns nil.
func (*Server) Handle() unsafe.Pointer { return nil }

// Close does nothing.
func (*Server) Close() {}

// Provide does nothing.
func Provide(Starter) {}

// NewTrace returns nil.
func NewTrace(infer.Trace) unsafe.Pointer { return nil }

// FreeTrace does nothing.
func FreeTrace(unsafe.Pointer) {}
