package chaos

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// cancels has clients that leave before their answer.
type cancels struct{}

func (cancels) applies(m Model, _ Control) bool { return m.Name != "" && m.kind != "sequence" }

func (cancels) play(e *episode) error {
	conn, err := connect(e.Server)
	if err != nil {
		return err
	}
	defer conn.close()
	var all sync.WaitGroup
	for i := range 50 {
		delay, value := time.Duration(e.rng.Int64N(int64(10*time.Millisecond))), e.rng.Int64N(1<<40)
		c := conn.http
		if e.rng.IntN(2) == 0 {
			c = conn.grpc
		}
		all.Go(func() {
			ctx, cancel := context.WithCancel(e.ctx)
			defer cancel()
			defer time.AfterFunc(delay, cancel).Stop()
			e.tally.sent.Add(1)
			a := e.ask(ctx, c, e.x.Model, 0, fmt.Sprintf("cancel-%d", i), []int64{value})
			switch verdict := e.oracle.judge(a); {
			case a.err != nil && ctx.Err() != nil:
				e.tally.cancelled.Add(1)
			case verdict == "":
				e.tally.right.Add(1)
			case verdict == "failed":
				e.tally.failed.Add(1)
			default:
				e.oracle.wrongf("%s: a request that may be cancelled: %s", e.x.Name, verdict)
			}
		})
	}
	all.Wait()
	return nil
}

// slowReader reads a large answer slowly, to its end or to some place in it.
type slowReader struct{}

func (slowReader) applies(m Model, _ Control) bool { return m.Name == "" }

func (slowReader) play(e *episode) error {
	const values = 1 << 18 // 2 MiB
	tensor := make([]byte, 8*values)
	for i := range values {
		binary.LittleEndian.PutUint64(tensor[8*i:], e.rng.Uint64())
	}
	head := fmt.Sprintf(`{"inputs":[{"name":"INPUT0","shape":[1,%d],"datatype":"INT64","parameters":{"binary_data_size":%d}}],"parameters":{"binary_data_output":true}}`, values, len(tensor))
	conn, err := net.Dial("tcp", e.HTTP)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(deadline))
	model := []string{"still_identity", "still_onnx", "still_ensemble"}[e.rng.IntN(3)]
	request := fmt.Sprintf("POST /v2/models/%s/infer HTTP/1.1\r\nHost: chaos\r\nInference-Header-Content-Length: %d\r\nContent-Length: %d\r\n\r\n%s",
		model, len(head), len(head)+len(tensor), head)
	if _, err := conn.Write(append([]byte(request), tensor...)); err != nil {
		return err
	}
	in := bufio.NewReaderSize(conn, 4096)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	end := e.rng.IntN(2 * int(resp.ContentLength)) // half of them leave
	var body bytes.Buffer
	for body.Len() < end {
		n, err := io.CopyN(&body, resp.Body, 1<<16)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("%d bytes of %d: %w", n, resp.ContentLength, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if body.Len() < int(resp.ContentLength) {
		return nil
	}
	got := body.Bytes()[body.Len()-len(tensor):]
	edition := binary.LittleEndian.Uint64(got) - binary.LittleEndian.Uint64(tensor)
	if resp.StatusCode != http.StatusOK || edition > firstEdition {
		return fmt.Errorf("status %d, edition %d", resp.StatusCode, edition)
	}
	for i := range values {
		if binary.LittleEndian.Uint64(got[8*i:])-binary.LittleEndian.Uint64(tensor[8*i:]) != edition {
			return fmt.Errorf("value %d of a slowly read answer is wrong", i)
		}
	}
	return nil
}
