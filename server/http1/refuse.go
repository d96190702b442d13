package http1

import (
	"io"
	"strconv"
	"time"
)

// maxRefused is the number of clients above the limit of connections that are answered at a
// time. The connections of others are closed.
const maxRefused = 64

const fullText = `{"error":"the server has reached its limit of HTTP connections; try again later"}`

const fullHead = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: "

// refuse answers and ends a connection above the limit.
func refuse(sess *session) {
	answered := false
	if underlying(sess.nc) == nil { // a TLS handshake would cost the work that the limit avoids
		_ = sess.nc.SetWriteDeadline(time.Now().Add(lingerSilence))
		_, err := io.WriteString(sess.nc, fullHead+strconv.Itoa(len(fullText))+"\r\n\r\n"+fullText)
		answered = err == nil
	}
	sess.end(answered)
}
