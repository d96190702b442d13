package conformance

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// shown are the headers of an answer that clients read. Allow is missing, because only our
// server sends it.
var shown = []string{
	"Accept-Encoding", "Content-Encoding", "Content-Length", "Content-Type", "Endpoint-Load-Metrics",
	"Inference-Header-Content-Length", "Transfer-Encoding",
}

const closed = "the connection ended without an answer\n"

func (t *Target) askHTTP(ctx context.Context, what string, head, body []string) (string, error) {
	method, path, ok := strings.Cut(what, " ")
	if !ok {
		return "", fmt.Errorf("%q is not a method and a path", what)
	}
	text, err := unescape(strings.Join(body, "\n"))
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+t.http+path, strings.NewReader(text))
	if err != nil {
		return "", err
	}
	for _, h := range head {
		name, value, ok := strings.Cut(h, ": ")
		if !ok {
			return "", fmt.Errorf("%q is no header", h)
		}
		req.Header.Set(name, value)
	}
	resp, err := t.web.Do(req)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return closed, nil
	}
	answer, err := show(resp)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	return answer, err
}

// askMetrics returns the lines of the metrics that contain a text, sorted: NVIDIA's server
// writes families and series in the order of hash tables.
func (t *Target) askMetrics(ctx context.Context, text string) (string, error) {
	if t.metrics == "" || text == "" {
		return "", fmt.Errorf("metrics of %q at address %q", text, t.metrics)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+t.metrics+"/metrics", http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := t.web.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	lines := slices.DeleteFunc(strings.SplitAfter(string(page), "\n"), func(line string) bool { return !strings.Contains(line, text) })
	slices.Sort(lines)
	return fmt.Sprintln(resp.StatusCode) + escape(strings.Join(lines, "")), nil
}

// askRaw sends the lines unchanged, with the line ends of HTTP, and reads one answer.
func (t *Target) askRaw(ctx context.Context, lines []string) (string, error) {
	text, err := unescape(strings.Join(lines, "\r\n"))
	if err != nil {
		return "", err
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", t.http)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(c, text); err != nil {
		return closed, nil
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return closed, nil
	}
	return show(resp)
}

func show(resp *http.Response) (string, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return closed, nil
	}
	text := escape(string(body))
	masked := mask(text)
	var b strings.Builder
	fmt.Fprintln(&b, resp.StatusCode)
	for _, name := range shown {
		values := resp.Header[name]
		if name == "Content-Length" && masked != text && int64(len(body)) == resp.ContentLength {
			values = []string{"that of the body"}
		}
		if name == "Transfer-Encoding" {
			values = resp.TransferEncoding
		}
		if len(values) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(values, ", "))
		}
	}
	if len(body) > 0 {
		b.WriteString("\n" + masked + "\n")
	}
	return b.String(), nil
}
