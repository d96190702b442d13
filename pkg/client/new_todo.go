package client

import "errors"

type Prepared struct{}

func newGRPC(o Options) (Client, error) { return nil, errors.New("todo") }
func newHTTP(o Options) (Client, error) { return nil, errors.New("todo") }
