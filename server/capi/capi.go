// Package capi is the C API of Triton Inference Server: its description (api.txt), the
// headers generated from it (include), and the functions that the server provides.
package capi

//go:generate go test ./capitest -run TestHeaders -update
