package main_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// classify sends one text_classifier request, which waits in the batcher for up
// to 100 ms, and returns the status.
func classify(s *server, client *http.Client) (int, string, error) {
	body := `{"inputs":[{"name":"input_ids","datatype":"INT64","shape":[1,4],"data":[1,2,3,4]},` +
		`{"name":"attention_mask","datatype":"INT64","shape":[1,4],"data":[1,1,1,1]}]}`
	resp, err := client.Post("http://"+s.http+"/v2/models/text_classifier/infer", "application/json", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// TestTermDrains sends SIGTERM while requests wait in the batcher: all of them
// are completed, and the process ends with code 0.
func TestTermDrains(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts the binary")
	}
	lib := needORT(t)
	s := serve(t, exampleModels(t, "text_classifier"), "--onnxruntime-library", lib)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()

	const n = 20 // between two preferred sizes, so that the last ones wait for the delay
	errs := make(chan error, n)
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			code, text, err := classify(s, client)
			if err == nil && code != http.StatusOK {
				err = fmt.Errorf("status %d: %s", code, text)
			}
			errs <- err
		})
	}
	waitTaken(t, s, client, n)
	s.stop(t)
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err, "an accepted request was lost")
	}
	_, _, err := classify(s, client)
	require.Error(t, err, "the port is closed")
}

// waitTaken returns once the server has taken all the requests in. It adds what is pending now to what had
// succeeded one page before: on one page, a request that ends meanwhile could be counted as both.
func waitTaken(t *testing.T, s *server, client *http.Client, n float64) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for before := 0.0; time.Now().Before(deadline); {
		resp, err := client.Get("http://" + s.metrics + "/metrics")
		require.NoError(t, err)
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		require.NoError(t, err)
		pending, succeeded := 0.0, 0.0
		for _, line := range strings.Split(string(text), "\n") {
			name, value, ok := strings.Cut(line, "} ")
			if !ok || !strings.Contains(name, "text_classifier") {
				continue
			}
			var v float64
			fmt.Sscan(value, &v)
			switch {
			case strings.HasPrefix(name, "nv_inference_pending_request_count"):
				pending += v
			case strings.HasPrefix(name, "nv_inference_request_success"):
				succeeded += v
			}
		}
		if before+pending >= n {
			return
		}
		before = succeeded
	}
	t.Fatal("the requests did not reach the server")
}

// TestSecondSignalEndsAtOnce holds a connection open with half a request, which
// the drain waits for, and sends a second signal, more than a second after the
// first: the server counts the seconds in its log.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts the binary")
	}
	lib := needORT(t)
	s := serve(t, exampleModels(t, "simple"), "--onnxruntime-library", lib, "--exit-timeout-secs=3600")
	conn, err := net.Dial("tcp", s.http)
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "POST /v2/models/simple/infer HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n")
	require.NoError(t, err)
	_, err = conn.Read(make([]byte, 12)) // the server has begun
	require.NoError(t, err)
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	s.requireLogged(t, "Timeout 3598:")
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-s.done:
	case <-time.After(time.Minute):
		t.Fatal("a second signal did not end the server")
	}
	require.Error(t, s.err, "ending with requests unanswered is not a success")
}
