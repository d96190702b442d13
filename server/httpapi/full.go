package httpapi

import (
	"io"
	"strconv"
	"time"
)

// maxRefused is how many clients above the limit of connections are told so at a
// time. Others have their connection closed.
const maxRefused = 64

const fullText = `{"error":"the server has as many HTTP connections as it may have; try again later"}`

const fullHead = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: "

// turnAway ends a connection above the limit.
func turnAway(at *session) {
	told := false
	if below(at.nc) == nil { // a TLS handshake would cost what the limit is to save
		_ = at.nc.SetWriteDeadline(time.Now().Add(lingerSilence))
		_, err := io.WriteString(at.nc, fullHead+strconv.Itoa(len(fullText))+"\r\n\r\n"+fullText)
		told = err == nil
	}
	at.leave(told)
}
