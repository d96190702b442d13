package measure

import (
	"io"
	"net"
	"time"
)

// RoundTrips returns how often per second a short message goes over the loopback to another goroutine and back,
// measured for a time or until stop is closed. That is what the machine gives to a program which waits for responses:
// the speed of its processors, and how soon a waiting thread runs. It is 0 if there is no loopback, or if stop ended
// it.
func RoundTrips(during time.Duration, stop <-chan struct{}) float64 {
	lis, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // the loopback does not wait
	if err != nil {
		return 0
	}
	defer func() { _ = lis.Close() }()
	near, err := net.DialTimeout("tcp", lis.Addr().String(), during)
	if err != nil {
		return 0
	}
	limit := time.Now().Add(2 * during)
	far, err := lis.Accept()
	if err != nil {
		_ = near.Close()
		return 0
	}
	_ = near.SetDeadline(limit) // a peer in this process, so that only a stopped machine is late
	_ = far.SetDeadline(limit)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(far, plainReader{far})
	}()
	rate := roundTrips(near, during, stop)
	_ = near.Close()
	<-ended
	_ = far.Close()
	return rate
}

// plainReader hides the methods with which io.Copy would let the kernel copy: the goroutine is to be woken.
type plainReader struct{ io.Reader }

func roundTrips(c net.Conn, during time.Duration, stop <-chan struct{}) float64 {
	var message [64]byte
	begin := time.Now()
	for n := 0; ; n++ {
		if passed := time.Since(begin); passed >= during {
			return float64(n) / passed.Seconds()
		}
		select {
		case <-stop:
			return 0
		default:
		}
		if _, err := c.Write(message[:]); err != nil {
			return 0
		}
		if _, err := io.ReadFull(c, message[:]); err != nil {
			return 0
		}
	}
}
