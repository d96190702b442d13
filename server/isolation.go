package server

import (
	"fmt"

	"triton/pkg/tensor"
)

// newPool returns the pool of tensor memory. If all models are isolated, their processes can
// map it, so that inputs are not copied.
func newPool(o Options, account tensor.Account) *tensor.Pool {
	if !o.Isolation.All {
		return tensor.NewPoolOf(tensor.PoolOptions{Account: account})
	}
	source, err := tensor.NewMemfd()
	if err != nil {
		o.Log.Warn(fmt.Sprintf("inputs are copied to isolated models, because there is no memory that processes can share: %s", err))
		return tensor.NewPoolOf(tensor.PoolOptions{Account: account})
	}
	return tensor.NewPoolOf(tensor.PoolOptions{Source: source, Account: account})
}
