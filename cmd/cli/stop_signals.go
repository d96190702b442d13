package cli

import (
	"os"
	"time"
)

// sameSignal is how long after the first termination signal further ones are
// taken for the same request: a supervisor may signal the process and then its
// process group, so that one stop arrives twice.
const sameSignal = time.Second

// watchSignals calls first for the first signal and again for every signal that
// comes more than sameSignal later. It returns when done is closed.
func watchSignals(signals <-chan os.Signal, done <-chan struct{}, first, again func(os.Signal)) {
	var began time.Time
	for {
		select {
		case <-done:
			return
		case sig := <-signals:
			switch {
			case began.IsZero():
				began = time.Now()
				first(sig)
			case time.Since(began) > sameSignal:
				again(sig)
			}
		}
	}
}
