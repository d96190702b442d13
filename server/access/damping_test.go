package access

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFailuresWait(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	bad, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	d := newDamping(3)
	for range 3 {
		d.Failed(bad, now)
		require.Zero(t, d.Wait(bad, now))
	}
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60} {
		d.Failed(bad, now)
		require.Equal(t, want*time.Second, d.Wait(bad, now))
	}
	for range 100 {
		d.Failed(bad, now)
	}
	require.Equal(t, time.Minute, d.Wait(bad, now), "no overflow")
	require.Equal(t, time.Minute, d.Wait(netip.MustParseAddr("::ffff:192.0.2.1"), now), "the same address in IPv6")
	require.Zero(t, d.Wait(other, now), "others do not wait")
	require.Zero(t, d.Wait(bad, now.Add(time.Minute)))
	d.Failed(bad, now.Add(forgetFailures+time.Second))
	require.Zero(t, d.Wait(bad, now.Add(forgetFailures+time.Second)), "old failures are forgotten")
	require.Zero(t, d.Wait(netip.Addr{}, now))
}

// TestDampingOfNetworks: a host has all addresses of its network in IPv6.
func TestDampingOfNetworks(t *testing.T) {
	t.Parallel()
	now, d := time.Unix(1e9, 0), newDamping(1)
	for i := range 4 {
		a := netip.MustParseAddr("2001:db8::").As16()
		a[15] = byte(i)
		d.Failed(netip.AddrFrom16(a), now)
	}
	require.Positive(t, d.Wait(netip.MustParseAddr("2001:db8::ffff:1%eth0"), now))
	require.Zero(t, d.Wait(netip.MustParseAddr("2001:db8:0:1::1"), now))
	require.Equal(t, 1, d.Len())
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	now, d := time.Unix(1e9, 0), newDamping(1)
	for i := range 3 * maxSources {
		d.Failed(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), now.Add(time.Duration(i)))
	}
	require.Equal(t, maxSources, d.Len())
}

func TestOff(t *testing.T) {
	t.Parallel()
	d, a := newDamping(0), netip.MustParseAddr("192.0.2.1")
	for range 100 {
		d.Failed(a, time.Now())
	}
	require.Zero(t, d.Wait(a, time.Now()))
	require.Zero(t, d.Len())
}
