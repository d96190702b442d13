package doctor

import (
	"context"
	"strings"

	"triton/cmd/cli/process"
)

// environment names variables that change what a server does, or look as if they did.
func environment(_ context.Context, p process.Process, _ options) []Finding {
	var found []Finding
	if visible, ok := p.LookupEnv("CUDA_VISIBLE_DEVICES"); ok {
		f := about("environment", Note, "CUDA_VISIBLE_DEVICES=%s", visible)
		if visible == "" || visible == "-1" {
			f = f.do("it hides all GPUs")
		}
		found = append(found, f)
	}
	if p.Getenv("LD_PRELOAD") != "" {
		found = append(found, about("environment", Note, "LD_PRELOAD=%s", p.Getenv("LD_PRELOAD")).do("these libraries are in the server and in Python models; a model that crashes at its start is tried without them first"))
	}
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		if p.Getenv(name) != "" {
			found = append(found, about("environment", Note, "%s is set", name).do("remote stores are asked through it; NO_PROXY names the hosts that are not"))
			break
		}
	}
	links := 0
	for _, pair := range p.Environ {
		name, value, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "TRITON_") && strings.HasPrefix(value, "tcp://") {
			links++
		}
	}
	if links > 0 {
		found = append(found, about("environment", OK, "%d variables of a Kubernetes Service named triton: they are not settings, and are ignored", links))
	}
	return found
}
