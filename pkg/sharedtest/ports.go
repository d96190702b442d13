// Package sharedtest provides what the tests of many packages share: free ports for servers, a buffer for logs, a
// terminal, and golden files, which the flag -update rewrites. It is for tests only.
package sharedtest

import (
	"net"
	"strconv"
	"testing"

	"triton/pkg/freeport"
)

// Ports reserves n ports until the test ends, and after the functions that the test registers
// with Cleanup from now on.
func Ports(t testing.TB, n int) []int {
	t.Helper()
	r, err := freeport.Reserve(n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Release)
	return r.Ports()
}

// Port is Ports for one port, as a string.
func Port(t testing.TB) string {
	t.Helper()
	return strconv.Itoa(Ports(t, 1)[0])
}

// Address is Port with the address before it.
func Address(t testing.TB) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", Port(t))
}
