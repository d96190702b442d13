//go:build !cgo || !linux

package inprocess

import "unsafe"

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
