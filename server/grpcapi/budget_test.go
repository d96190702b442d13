package grpcapi

import (
	"sync"
	"testing"
)

// TestBudgetRefusesOnlyWhatDoesNotFit: a charge that is refused takes nothing away
// from others, not even for a moment.
func TestBudgetRefusesOnlyWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	b := &connBudget{limit: 1000}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if b.take(1001) {
					t.Error("more than the limit was taken")
					return
				}
			}
		}
	})
	refused := 0
	for range 500_000 {
		if b.take(1) {
			b.used.Add(-1)
		} else {
			refused++
		}
	}
	close(stop)
	wg.Wait()
	if refused > 0 {
		t.Errorf("%d charges of 1 byte were refused although nothing was used", refused)
	}
	if used := b.used.Load(); used != 0 {
		t.Errorf("%d bytes are left", used)
	}
}
