package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"triton/pkg/client/lane"
	"triton/pkg/measure"
)

// floor sends the bytes of the same requests with as few system calls as there can be: for each
// request a write and a read, and one wait for many connections. What the generator costs beyond
// it is the generator's own.
func floor(args []string) error {
	f := flag.NewFlagSet("floor", flag.ExitOnError)
	address := f.String("address", "", "`address` of the server")
	protocol := f.String("protocol", "http", "http or grpc")
	concurrency := f.Int("concurrency", 64, "requests at a time, each on a connection")
	window := f.Duration("window", 2*time.Second, "time measured")
	_ = f.Parse(args)
	runtime.LockOSThread()
	s := &sender{calls: map[int32]*call{}}
	if s.poll, s.err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); s.err != nil {
		return s.err
	}
	for range *concurrency {
		if err := s.connect(*address, *protocol); err != nil {
			return err
		}
	}
	for _, c := range s.calls {
		s.send(c)
	}
	s.run(time.Now().Add(200 * time.Millisecond))
	earlier := len(s.latencies)
	s.latencies = s.latencies[:0]
	var before, after syscall.Rusage
	begin := time.Now()
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
		return err
	}
	s.run(begin.Add(*window))
	took := time.Since(begin)
	if err := errors.Join(s.err, syscall.Getrusage(syscall.RUSAGE_SELF, &after)); err != nil {
		return err
	}
	r := newFigures(s.latencies, took, &before, &after)
	r.Requests = uint64(earlier + len(s.latencies))
	return json.NewEncoder(os.Stdout).Encode(r)
}

// newFigures computes the figures of a window.
func newFigures(latencies []int64, took time.Duration, before, after *syscall.Rusage) figures {
	n := float64(len(latencies))
	slices.Sort(latencies)
	micros := func(p float64) float64 { return float64(measure.Percentile(latencies, p)) / 1e3 }
	user, system := after.Utime.Nano()-before.Utime.Nano(), after.Stime.Nano()-before.Stime.Nano()
	return figures{
		PerSecond: n / took.Seconds(), P50: micros(50), P99: micros(99),
		CPU: float64(user+system) / n / 1e3, User: float64(user) / n / 1e3,
		Switches: float64(after.Nvcsw-before.Nvcsw+after.Nivcsw-before.Nivcsw) / n,
	}
}

// call is a connection with one request at a time.
type call struct {
	fd       int
	request  []byte
	streams  []int // offsets of the number of the stream in request; with gRPC
	stream   uint32
	response int // bytes
	left     int // of the response
	begin    int64
}

type sender struct {
	poll      int
	calls     map[int32]*call
	latencies []int64
	buffer    [64 << 10]byte
	err       error
}

func (s *sender) connect(address, protocol string) error {
	at, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: at.Port, Addr: [4]byte(at.IP.To4())}); err != nil {
		return err
	}
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	c := &call{fd: fd}
	if protocol == "grpc" {
		if err := s.greet(c); err != nil {
			return err
		}
	} else {
		body := `{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,16],"parameters":{"binary_data_size":64}}],"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}}]}`
		c.request = fmt.Appendf(nil, "POST /v2/models/null/infer HTTP/1.1\r\nHost: %s\r\nContent-Type: application/octet-stream\r\nInference-Header-Content-Length: %d\r\nContent-Length: %d\r\n\r\n%s%s",
			address, len(body), len(body)+64, body, make([]byte, 64))
		c.response = len(httpResponse)
	}
	s.calls[int32(fd)] = c
	return unix.EpollCtl(s.poll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

// greet opens a connection of HTTP/2 and reads what the server sends in return.
func (s *sender) greet(c *call) error {
	hello := append([]byte(prefaceText), appendFrame(nil, frameSettings, 0, 0, []byte{0, 4, 0x7f, 0xff, 0xff, 0xff})...)
	hello = appendFrame(hello, frameWindow, 0, 0, binary.BigEndian.AppendUint32(nil, window-65535))
	if _, err := unix.Write(c.fd, hello); err != nil {
		return err
	}
	want := len(greeting) + 9
	for got := 0; got < want; {
		n, err := unix.Read(c.fd, s.buffer[:want-got])
		if err != nil || n == 0 {
			return fmt.Errorf("the server ended the connection: %w", err)
		}
		got += n
	}
	if _, err := unix.Write(c.fd, appendFrame(nil, frameSettings, flagAck, 0, nil)); err != nil {
		return err
	}
	// :method POST, :scheme http, :path, :authority, content-type, te; all without the table.
	head := append([]byte{0x83, 0x86, 0x04, 38}, "/inference.GRPCInferenceService/ModelInfer"[:38]...)
	head = append(append(head, 0x01, 9), "127.0.0.1"...)
	head = append(append(head, 0x0f, 0x10, 16), "application/grpc"...)
	c.request = appendFrame(nil, frameHeaders, flagEndHeaders, 0, head)
	second := len(c.request)
	c.request = appendFrame(c.request, frameData, flagEndStream, 0, message) // about as long as the request
	c.streams = []int{5, second + 5}
	c.stream = 1
	c.response = len((&http2{}).frame(frameData, flagEndStream, 1, nil, nil))
	return nil
}

func (s *sender) send(c *call) {
	for _, at := range c.streams {
		binary.BigEndian.PutUint32(c.request[at:], c.stream)
	}
	c.stream += 2
	c.left = c.response
	c.begin = lane.Now()
	if _, err := unix.Write(c.fd, c.request); err != nil {
		s.err = err
	}
}

// run answers events until a time.
func (s *sender) run(until time.Time) {
	events := make([]unix.EpollEvent, 256)
	for s.err == nil && time.Now().Before(until) {
		n, err := unix.EpollWait(s.poll, events, 100)
		if err != nil && !errors.Is(err, unix.EINTR) {
			s.err = err
			return
		}
		for _, e := range events[:max(n, 0)] {
			s.receive(s.calls[e.Fd])
		}
	}
}

func (s *sender) receive(c *call) {
	n, err := unix.Read(c.fd, s.buffer[:])
	if err != nil || n == 0 {
		s.err = fmt.Errorf("the server ended the connection: %w", err)
		return
	}
	if c.left -= n; c.left > 0 {
		return
	}
	s.latencies = append(s.latencies, lane.Now()-c.begin)
	s.send(c)
}
