package nonblock

import "context"

// WaitKey is the key under which a context has something with a method WillWait, if the goroutine that works for it
// also does something else that others need, such as reading a connection.
var WaitKey any = waitKey{}

type waitKey struct{}

// WillWait is called before a goroutine waits for what may take long.
func WillWait(ctx context.Context) {
	if w, ok := ctx.Value(WaitKey).(interface{ WillWait() }); ok {
		w.WillWait()
	}
}
