package policy

import (
	"math"
	"strconv"
	"time"
)

// units are the quota units of the draft of the RateLimit header fields; requests need none, and
// rows have none.
var units = [...]string{QuotaNone: "", QuotaRequests: "", QuotaRows: "", QuotaBytes: `;qu="content-bytes"`, QuotaConcurrent: `;qu="concurrent-requests"`}

// AppendRateLimitPolicy appends the value of the header RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers):
// the quotas of a limit. It appends nothing for a limit without quotas.
func AppendRateLimitPolicy(b []byte, l *Limit) []byte {
	first := len(b)
	rate := func(q Quota, perSecond float64) {
		if perSecond > 0 {
			window := int64(math.Ceil(max(l.Burst.Seconds(), 1/perSecond))) // long enough for one
			b = appendItem(b, first, q, "q", int64(math.Max(1, perSecond*float64(window))))
			b = strconv.AppendInt(append(append(b, units[q]...), ";w="...), window, 10)
		}
	}
	rate(QuotaRequests, l.Requests)
	rate(QuotaRows, l.Rows)
	rate(QuotaBytes, l.Bytes)
	if l.Concurrent > 0 {
		b = append(appendItem(b, first, QuotaConcurrent, "q", int64(l.Concurrent)), units[QuotaConcurrent]...)
	}
	return b
}

// AppendState appends the value of the header RateLimit: what is left of the quotas.
func (l Lease) AppendState(b []byte) []byte {
	if l.account == nil {
		return b
	}
	return l.account.appendState(b, l.table.now())
}

// AppendUsedUp appends the value of the header RateLimit of a refusal.
func (r Refusal) AppendUsedUp(b []byte) []byte {
	b = appendItem(b, len(b), r.Quota, "r", 0)
	return strconv.AppendInt(append(b, ";t="...), seconds(r.Wait), 10)
}

func (a *account) appendState(b []byte, now time.Duration) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	l, first := a.limit, len(b)
	rate := func(q Quota, full time.Duration, perSecond float64) {
		if perSecond > 0 {
			used := max(full-now, 0)
			b = appendItem(b, first, q, "r", int64(max((l.Burst-used).Seconds(), 0)*perSecond))
			b = strconv.AppendInt(append(b, ";t="...), seconds(used), 10)
		}
	}
	rate(QuotaRequests, a.requests, l.Requests)
	rate(QuotaRows, a.rows, l.Rows)
	rate(QuotaBytes, a.bytes, l.Bytes)
	if l.Concurrent > 0 {
		b = appendItem(b, first, QuotaConcurrent, "r", int64(max(l.Concurrent-a.open, 0)))
	}
	return b
}

// appendItem appends an item with one parameter to a structured list that begins at first.
func appendItem(b []byte, first int, q Quota, parameter string, value int64) []byte {
	if len(b) > first {
		b = append(b, ", "...)
	}
	b = append(append(append(b, '"'), q.String()...), `";`...)
	return strconv.AppendInt(append(append(b, parameter...), '='), value, 10)
}

// seconds rounds a time up to whole seconds, as headers have them.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
