package cli

import (
	"strings"

	"triton/server/ratelimit"
)

func (s *serveFlags) defineRates(b *flagBook) {
	b.group("Rate Limiter")
	mode := "off"
	b.add("rate-limit", "off runs a batch as soon as an instance is free; execution_count lets instances wait for the resources that they share.",
		checkedValue{"string", &mode, func(v string) error {
			switch strings.ToLower(v) {
			case "off", "execution_count":
				return nil
			}
			return said("invalid argument for --rate-limit")
		}})
	b.list(new([]string), "rate-limit-resource",
		"<name>:<count>[:<device>]: how much of a resource there is; may be repeated. By default as much as the instance needs that needs most.",
		func(v string) error {
			r, err := rateResource(v)
			s.opts.Rates.Resources = append(s.opts.Rates.Resources, r)
			return err
		})
	s.finally(func() error {
		s.opts.Rates.Limit = strings.EqualFold(mode, "execution_count")
		if len(s.opts.Rates.Resources) > 0 && !s.opts.Rates.Limit {
			b.remark("rate-limit-resource", "resources do not matter without --rate-limit=execution_count")
		}
		return nil
	})
}

// rateResource reads "<name>:<count>" or "<name>:<count>:<device>". As with
// Triton, a count below 0 is more than anybody asks for.
func rateResource(arg string) (ratelimit.Resource, error) {
	parts := strings.Split(arg, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return ratelimit.Resource{}, said("--rate-limit-resource option format is '<resource_name>:<count>:<device>' or '<resource_name>:<count>'. Got %s", arg)
	}
	count, err := parseInt(parts[1])
	device := int64(ratelimit.AllDevices)
	if err == nil && len(parts) == 3 {
		device, err = parseInt(parts[2])
	}
	return ratelimit.Resource{Name: parts[0], Count: uint64(count), Device: int(device)}, err
}
