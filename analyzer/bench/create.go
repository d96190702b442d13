package bench

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// createBody is the body of a request to create a container, with the fields that other code here
// reads. more has the fields of docker_args.
type createBody struct {
	name  string
	Image string
	Tty   bool
	more  map[string]any // by path, such as HostConfig.Memory
}

// MarshalJSON writes all fields.
func (b *createBody) MarshalJSON() ([]byte, error) {
	out := map[string]any{"Image": b.Image, "Tty": b.Tty}
	for path, v := range b.more {
		at := out
		parts := strings.Split(path, ".")
		for _, p := range parts[:len(parts)-1] {
			next, ok := at[p].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[p] = next
			}
			at = next
		}
		at[parts[len(parts)-1]] = v
	}
	return json.Marshal(out)
}

// container describes the container of a server.
func (l Docker) container(s Setup) (*createBody, error) {
	repository, err := filepath.Abs(l.Repository)
	if err != nil {
		return nil, err
	}
	if len(l.Ports) != 3 {
		return nil, fmt.Errorf("a container needs ports for HTTP, gRPC and metrics, not %d", len(l.Ports))
	}
	command := []string{
		"tritonserver", "--model-repository=" + repository, "--model-control-mode=explicit",
		"--http-port=" + l.Ports[0], "--grpc-port=" + l.Ports[1], "--metrics-port=" + l.Ports[2],
		fmt.Sprintf("--metrics-interval-ms=%d", max(1, l.MetricsInterval.Milliseconds())),
	}
	bindings, exposed := map[string]any{}, map[string]any{}
	for _, port := range l.Ports {
		exposed[port+"/tcp"] = map[string]any{}
		bindings[port+"/tcp"] = []map[string]string{{"HostIp": "127.0.0.1", "HostPort": port}}
	}
	b := &createBody{Image: l.Image, more: map[string]any{
		"Cmd":                     append(command, s.Flags...),
		"Labels":                  l.Labels,
		"ExposedPorts":            exposed,
		"HostConfig.PortBindings": bindings,
		"HostConfig.Binds":        append([]string{repository + ":" + repository + ":ro"}, l.Mounts...),
	}}
	if l.ShmSize != "" {
		if b.more["HostConfig.ShmSize"], err = byteSize(l.ShmSize); err != nil {
			return nil, fmt.Errorf("--triton-docker-shm-size: %w", err)
		}
	}
	var env []string
	for k, v := range s.Env {
		env = append(env, k+"="+v)
	}
	slices.Sort(env)
	b.more["Env"] = env
	switch {
	case l.Devices == nil:
		b.more["HostConfig.DeviceRequests"] = []any{map[string]any{"Count": -1, "Capabilities": [][]string{{"gpu"}}}}
	case len(l.Devices) > 0:
		b.more["HostConfig.DeviceRequests"] = []any{map[string]any{"DeviceIDs": l.Devices, "Capabilities": [][]string{{"gpu"}}}}
	}
	return b, b.apply(s.Container)
}

// argumentKind is the form of an argument in the engine's API.
type argumentKind uint8

const (
	plain    argumentKind = iota // as it is
	amount                       // a size with a unit
	addition                     // a list, added to that which is there
	pairs                        // a list of KEY=value, as a map
	words                        // a command line
)

// argumentTable are the arguments of Docker's Python library that the engine has, and their places.
// What only concerns the library (detach, remove, stdout, stderr, stream, version) has no effect.
var argumentTable = map[string]struct {
	path string
	kind argumentKind
}{
	"blkio_weight":      {"HostConfig.BlkioWeight", plain},
	"cap_add":           {"HostConfig.CapAdd", plain},
	"cap_drop":          {"HostConfig.CapDrop", plain},
	"cgroup_parent":     {"HostConfig.CgroupParent", plain},
	"cgroupns":          {"HostConfig.CgroupnsMode", plain},
	"command":           {"Cmd", words},
	"cpu_count":         {"HostConfig.CpuCount", plain},
	"cpu_percent":       {"HostConfig.CpuPercent", plain},
	"cpu_period":        {"HostConfig.CpuPeriod", plain},
	"cpu_quota":         {"HostConfig.CpuQuota", plain},
	"cpu_rt_period":     {"HostConfig.CpuRealtimePeriod", plain},
	"cpu_shares":        {"HostConfig.CpuShares", plain},
	"cpuset_cpus":       {"HostConfig.CpusetCpus", plain},
	"cpuset_mems":       {"HostConfig.CpusetMems", plain},
	"domainname":        {"Domainname", plain},
	"entrypoint":        {"Entrypoint", words},
	"environment":       {"Env", addition},
	"hostname":          {"Hostname", plain},
	"init":              {"HostConfig.Init", plain},
	"ipc_mode":          {"HostConfig.IpcMode", plain},
	"isolation":         {"HostConfig.Isolation", plain},
	"labels":            {"Labels", pairs},
	"mac_address":       {"MacAddress", plain},
	"mem_limit":         {"HostConfig.Memory", amount},
	"mem_reservation":   {"HostConfig.MemoryReservation", amount},
	"memswap_limit":     {"HostConfig.MemorySwap", amount},
	"nano_cpus":         {"HostConfig.NanoCpus", plain},
	"network":           {"HostConfig.NetworkMode", plain},
	"network_disabled":  {"NetworkDisabled", plain},
	"network_mode":      {"HostConfig.NetworkMode", plain},
	"oom_kill_disable":  {"HostConfig.OomKillDisable", plain},
	"oom_score_adj":     {"HostConfig.OomScoreAdj", plain},
	"pid_mode":          {"HostConfig.PidMode", plain},
	"pids_limit":        {"HostConfig.PidsLimit", plain},
	"privileged":        {"HostConfig.Privileged", plain},
	"publish_all_ports": {"HostConfig.PublishAllPorts", plain},
	"runtime":           {"HostConfig.Runtime", plain},
	"shm_size":          {"HostConfig.ShmSize", amount},
	"stdin_open":        {"OpenStdin", plain},
	"stop_signal":       {"StopSignal", plain},
	"user":              {"User", plain},
	"userns_mode":       {"HostConfig.UsernsMode", plain},
	"uts_mode":          {"HostConfig.UTSMode", plain},
	"volume_driver":     {"HostConfig.VolumeDriver", plain},
	"volumes":           {"HostConfig.Binds", addition},
	"working_dir":       {"WorkingDir", plain},
}

// apply sets the fields of docker_args.
func (b *createBody) apply(args map[string]any) error {
	for name, v := range args {
		switch name {
		case "image":
			b.Image = fmt.Sprint(v)
			continue
		case "name":
			b.name = fmt.Sprint(v)
			continue
		case "tty":
			b.Tty, _ = v.(bool)
			continue
		}
		a, ok := argumentTable[name]
		if !ok {
			continue
		}
		value, err := convertArgument(a.kind, v, b.more[a.path])
		if err != nil {
			return fmt.Errorf("triton_docker_args %s: %w", name, err)
		}
		b.more[a.path] = value
	}
	return nil
}

func convertArgument(k argumentKind, v, old any) (any, error) {
	switch k {
	case amount:
		return byteSize(fmt.Sprint(v))
	case words:
		return strings.Fields(fmt.Sprint(v)), nil
	case addition:
		list, _ := old.([]string)
		return append(list, textList(v)...), nil
	case pairs:
		all := map[string]string{}
		labels, _ := old.(map[string]string)
		maps.Copy(all, labels)
		for _, text := range textList(v) {
			key, value, _ := strings.Cut(text, "=")
			all[key] = value
		}
		return all, nil
	}
	return v, nil
}

func textList(v any) []string {
	if list, ok := v.([]string); ok {
		return list
	}
	return []string{fmt.Sprint(v)}
}

// byteSize parses Docker's sizes, such as 64m or 1gb: a number of bytes with a binary unit.
func byteSize(text string) (int64, error) {
	lower := strings.TrimSuffix(strings.ToLower(strings.TrimSpace(text)), "b")
	shift := 0
	if n := len(lower); n > 0 {
		if i := strings.IndexByte("kmgt", lower[n-1]); i >= 0 {
			shift, lower = 10*(i+1), lower[:n-1]
		}
	}
	n, err := strconv.ParseInt(lower, 10, 64)
	if err != nil || n < -1 || n > 1<<62>>shift {
		return 0, fmt.Errorf("%q is not a size such as 512m or 1g", text)
	}
	return n << shift, nil
}
