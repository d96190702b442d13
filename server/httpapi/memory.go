package httpapi

import (
	"triton/pkg/kserve/rest"
	"triton/pkg/status"
	"triton/server/shm"
)

// maxRegisterRequest limits the body of a register request, which holds a name
// and two numbers.
const maxRegisterRequest = 1 << 20

// systemMemory lists, registers and unregisters system shared memory.
func (a *api) systemMemory(x *exchange, r *route) error {
	switch r.to {
	case systemRegister:
		return a.registerSystem(x, r.region)
	case systemUnregister:
		return a.opts.Regions.UnregisterSystem(r.region)
	}
	all, err := a.opts.Regions.SystemStatus(r.region)
	if err != nil {
		return err
	}
	x.text = appendSystemRegions(x.text[:0], all)
	return nil
}

func (a *api) registerSystem(x *exchange, name string) error {
	if err := a.opts.Regions.Allowed(); err != nil {
		return err
	}
	if name == "" {
		return status.New(status.InvalidArg, "'region name' is necessary to register system shared memory region")
	}
	body, err := x.read(maxRegisterRequest)
	if err != nil {
		return err
	}
	defer body.Release()
	req, err := rest.ParseObject(body.Bytes())
	if err != nil {
		return err
	}
	return a.registerParsed(name, req)
}

func (a *api) registerParsed(name string, req rest.Object) error {
	key, err := required(req, "key")
	if err != nil {
		return err
	}
	object, err := key.String()
	if err != nil {
		return err
	}
	offset := uint64(0)
	if v, ok := req.Get("offset"); ok {
		if offset, err = v.Uint(); err != nil {
			return err
		}
	}
	v, err := required(req, "byte_size")
	if err != nil {
		return err
	}
	size, err := v.Uint()
	if err != nil {
		return err
	}
	return a.opts.Regions.RegisterSystem(name, object, offset, size)
}

func required(req rest.Object, name string) (rest.Value, error) {
	v, ok := req.Get(name)
	if !ok {
		return v, status.New(status.InvalidArg, "Shared memory register request has no '%s' field", name)
	}
	return v, nil
}

// cudaMemory is the same for CUDA shared memory, of which there is none.
func (a *api) cudaMemory(x *exchange, r *route) error {
	if r.to == cudaStatus {
		x.text = append(x.text[:0], "[]"...)
		return a.opts.Regions.CUDAStatus(r.region)
	}
	if err := a.opts.Regions.Allowed(); err != nil || r.to == cudaUnregister {
		return err // a name that is not registered is no error
	}
	if r.region == "" {
		return status.New(status.InvalidArg, "'region name' is necessary to register cuda shared memory region")
	}
	return a.opts.Regions.RegisterCUDA(r.region)
}

func appendSystemRegions(b []byte, all []shm.System) []byte {
	b = append(b, '[')
	for i, r := range all {
		b = rest.AppendString(append(comma(b, i), `{"name":`...), r.Name)
		b = rest.AppendString(append(b, `,"key":`...), r.Key)
		b = appendUint(b, `,"offset":`, r.Offset)
		b = append(appendUint(b, `,"byte_size":`, r.Size), '}')
	}
	return append(b, ']')
}
