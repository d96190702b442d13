package capacity

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Load is a made-up load: so many requests at a rate.
type Load struct {
	Rate     float64 // requests per second
	Constant bool    // all times between requests are equal, else they are random (Poisson)
	Rows     int     // of a request
	Requests int
	Seed     uint64
}

// Check returns why a load is none.
func (l Load) Check() error {
	switch {
	case !(l.Rate > 0 && l.Rate <= 1e9):
		return fmt.Errorf("the rate %g is not above 0 and at most 1e9 requests per second", l.Rate)
	case l.Rows < 1 || l.Rows > 1<<20:
		return fmt.Errorf("a request has 1 to %d rows, not %d", 1<<20, l.Rows)
	case l.Requests < 1 || l.Requests > maxRequests:
		return fmt.Errorf("the number of requests is from 1 to %d, not %d", maxRequests, l.Requests)
	}
	return nil
}

// maxRequests bounds the memory of a run.
const maxRequests = 10_000_000

// Arrivals returns the requests. The same load always has the same.
func (l Load) Arrivals() []Arrival {
	random := rand.New(rand.NewPCG(l.Seed, 0))
	all := make([]Arrival, l.Requests)
	at, gap := 0.0, float64(time.Second)/l.Rate
	for i := range all {
		all[i] = Arrival{At: time.Duration(at), Rows: l.Rows}
		if l.Constant {
			at = float64(i+1) * gap
		} else {
			at += random.ExpFloat64() * gap
		}
	}
	return all
}
