package grpcapi

// Memory of models is taken for a whole message when its first bytes are there, and charged to the
// budgets as the others arrive. These are the limits of the part that has not arrived, so that clients
// that announce large messages and send nothing do not take memory, or places in the pool, without
// an end. A message that exceeds them is not refused: it is collected in frames. They are at most
// the limits of the budgets.
const (
	maxAheadConn = 2 * maxContents
	maxAheadAll  = 1 << 30
)

// lower returns the lower one of two limits, of which 0 means none.
func lower(limit, most int64) int64 {
	if limit == 0 {
		return most
	}
	return min(limit, most)
}

// ahead counts the memory that is reserved for the messages of a connection and has not been charged.
type ahead struct {
	conn   budget
	server *budget
}

// reserve reports whether n more bytes may be reserved, and counts them if they may.
func (a *ahead) reserve(n int) bool {
	if !a.conn.take(n) {
		return false
	}
	if !a.server.take(n) {
		a.conn.release(n)
		return false
	}
	return true
}

// release ends the reservation of n bytes: they are charged now, or the message has ended.
func (a *ahead) release(n int) {
	a.conn.release(n)
	a.server.release(n)
}
