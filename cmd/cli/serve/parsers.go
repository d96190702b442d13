package serve

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"triton/pkg/log"
	"triton/server"
	"triton/server/frontend"
	"triton/server/grpcapi"
	"triton/server/readiness"
	"triton/server/repository"
	"triton/server/scheduler"
)

// ignoredInt is an integer whose value has no effect.
func ignoredInt(n int64) intValue[int64] { return int32Value(&n) }

// checked returns a function that calls read and returns only its error.
func checked[T any](read func(string) (T, error)) func(string) error {
	return func(v string) error {
		_, err := read(v)
		return err
	}
}

func checkDeviceBytes(v string) error {
	_, _, err := pair(v, ":", parseInt, parseUint)
	return err
}

func (o *options) setVerbose(v string) error {
	switch strings.ToLower(v) {
	case "true":
		v = "1"
	case "false":
		v = "0"
	}
	n, err := parseInt(v)
	if err == nil {
		o.log.Verbose = int(max(n, 0))
	}
	return err
}

func (o *options) setLogFormat(v string) (err error) {
	if o.log.Format, err = log.ParseFormat(v); err != nil {
		return fmt.Errorf("%w%s", err, use("default", "ISO8601", "json"))
	}
	return nil
}

// use lists the values of a flag behind the text of an error, which is Triton's.
func use(values ...string) string { return ": use one of " + strings.Join(values, ", ") }

func (o *options) setControl(v string) error {
	mode, ok := map[string]repository.Control{
		"none": repository.ControlNone, "poll": repository.ControlPoll, "explicit": repository.ControlExplicit, "auto": repository.ControlAuto,
	}[strings.ToLower(v)]
	if !ok {
		return errors.New("invalid argument for --model-control-mode" + use("none", "poll", "explicit", "auto"))
	}
	o.Models.Control = mode
	return nil
}

func (o *options) setReadiness(v string) (err error) {
	o.Readiness, err = readiness.Parse(v)
	return err
}

// delay parses a number of seconds, or a duration of Go.
func delay(to *time.Duration) func(string) error {
	return func(v string) error {
		d, err := time.ParseDuration(v)
		if n, notNumber := strconv.ParseInt(v, 10, 32); notNumber == nil {
			d, err = time.Duration(n)*time.Second, nil
		}
		if err != nil || d < 0 {
			return fmt.Errorf("%q is no number of seconds and no time such as 500ms", v)
		}
		*to = d
		return nil
	}
}

// setRequestMemory reads an amount of memory of the machine.
func (o *options) setRequestMemory(v string) error {
	b, err := server.ParseBudget(v)
	if err != nil || b.Bytes == 0 || strings.Contains(v, "=") {
		return fmt.Errorf("invalid memory '%s', expects an amount such as 2GiB", v)
	}
	o.RequestMemory = b.Bytes
	return nil
}

// addBudget adds a memory budget. The device of a second one must be another.
func (o *options) addBudget(v string) error {
	b, err := server.ParseBudget(v)
	if err != nil {
		return err
	}
	for _, text := range o.Models.OnDemand.Budgets {
		if before, _ := server.ParseBudget(text); before.Device == b.Device {
			return fmt.Errorf("there are two memory budgets for device %s", b.Device)
		}
	}
	o.Models.OnDemand.Budgets = append(o.Models.OnDemand.Budgets, v)
	return nil
}

// setKeepAlive sets the keep-alive time: -1 or a number of seconds.
func (o *options) setKeepAlive(v string) error {
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || n != -1 && !(n >= 0 && n < math.MaxInt32) {
		return fmt.Errorf("invalid keep-alive time '%s', expects a number of seconds, or -1 for no limit", v)
	}
	o.Models.OnDemand.KeepAlive = time.Duration(n * float64(time.Second))
	return nil
}

func (o *options) setConfigName(v string) error {
	if v == "" {
		return tritonErrorf("Error: empty argument for --model-config-name")
	}
	o.Models.ConfigName = v
	return nil
}

// headerPattern parses a regular expression that matches names of headers in upper or lower
// case.
func headerPattern(to **regexp.Regexp) func(string) error {
	return func(v string) error {
		if v == "" {
			*to = nil
			return nil
		}
		re, err := regexp.Compile("(?i)" + v)
		if err != nil {
			return fmt.Errorf("invalid regular expression: %w", err)
		}
		*to = re
		return nil
	}
}

const secretsUsage = "<category>,...:<key>=<value>: calls of these categories need the header <key> with <value>. May be repeated. " +
	"The categories are health, metadata, inference, shared-memory, model-config, model-repository, statistics, trace and logging."

// checkSecrets returns a function that checks a rule together with the earlier rules.
func checkSecrets(word string, before *[]string) func(string) error {
	return func(v string) error {
		_, err := frontend.ParseRestrictions(word, append(*before, v))
		return err
	}
}

func (o *options) setCompression(v string) error {
	level, ok := map[string]grpcapi.Compression{
		"none": grpcapi.CompressNone, "low": grpcapi.CompressLow, "medium": grpcapi.CompressMedium, "high": grpcapi.CompressHigh,
	}[strings.ToLower(v)]
	if !ok {
		return errors.New("invalid argument for --grpc_infer_response_compression_level" + use("none", "low", "medium", "high"))
	}
	o.GRPC.Frontend.Compression = level
	return nil
}

func (o *options) setTransport(v string) error {
	for _, t := range []grpcapi.Transport{grpcapi.TransportGRPC, grpcapi.TransportBuiltin} {
		if v == t.String() {
			o.GRPC.Frontend.Transport = t
			return nil
		}
	}
	return errors.New("invalid argument for --grpc-transport" + use("grpc-go", "builtin"))
}

func (o *options) setRateLimit(v string) error {
	switch strings.ToLower(v) {
	case "off", "execution_count":
		o.RateLimiter.Enabled = strings.EqualFold(v, "execution_count")
		return nil
	}
	return tritonErrorf("invalid argument for --rate-limit%s", use("off", "execution_count"))
}

// addRateResource reads "<name>:<count>" or "<name>:<count>:<device>". As in Triton, a
// negative count is unlimited.
func (o *options) addRateResource(v string) error {
	parts := strings.Split(v, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return tritonErrorf("--rate-limit-resource option format is '<resource_name>:<count>:<device>' or '<resource_name>:<count>'. Got %s", v)
	}
	count, err := parseInt(parts[1])
	device := int64(scheduler.AllDevices)
	if err == nil && len(parts) == 3 {
		device, err = parseInt(parts[2])
	}
	if err != nil {
		return err
	}
	o.RateLimiter.Resources = append(o.RateLimiter.Resources, scheduler.Resource{Name: parts[0], Count: uint64(count), Device: int(device)})
	return nil
}

// addGPULimit reads "<gpu>:<fraction>". The first value for a GPU counts.
func (o *options) addGPULimit(v string) error {
	gpu, fraction, err := pair(v, ":", parseInt, parseFloat)
	if err != nil {
		return err
	}
	if o.Models.GPULimits == nil {
		o.Models.GPULimits = map[int]float64{}
	}
	if _, known := o.Models.GPULimits[int(gpu)]; !known {
		o.Models.GPULimits[int(gpu)] = fraction
	}
	return nil
}
