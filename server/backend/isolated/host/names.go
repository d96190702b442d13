package host

import "sync"

// names are the names of tensors and parameters as strings.
type names struct {
	mu    sync.RWMutex
	known map[string]string
}

// of returns a name. The same name is allocated once, as long as there are not too many.
func (n *names) of(b []byte) string {
	n.mu.RLock()
	s, ok := n.known[string(b)]
	n.mu.RUnlock()
	if ok {
		return s
	}
	s = string(b)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil {
		n.known = map[string]string{}
	}
	if len(n.known) < maxNames {
		n.known[s] = s
	}
	return s
}
