package serve

import (
	"time"

	"github.com/spf13/pflag"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/server"
)

// table defines the flags of serve. Names may be abbreviated, and some flags have no
// effect.
type table struct {
	*flags.Set
	noEffect map[string]string // the reason, by flag
}

func newTable(p process.Process, set *pflag.FlagSet) *table {
	set.SortFlags = false
	t := &table{Set: flags.New(p, "serve", set), noEffect: map[string]string{}}
	t.Abbreviate()
	return t
}

func (t *table) value(v pflag.Value, name, usage string) { t.Add(v, name, "", usage) }

func (t *table) boolean(to *bool, name, usage string) { t.value(boolValue{to}, name, usage) }

// toggle adds a boolean that takes no value.
func (t *table) toggle(to *bool, name, usage string) {
	t.Add(boolValue{to}, name, "", usage).NoOptDefVal = "true"
}

func (t *table) text(to *string, name, usage string) { t.value(textValue(to), name, usage) }

// parsed adds a text that set accepts or rejects; the help text shows initial as the
// default.
func (t *table) parsed(set func(string) error, initial, name, usage string) {
	t.value(checkedValue{&initial, set}, name, usage)
}

// list adds a flag that may be repeated. With a nil check every value is accepted.
func (t *table) list(to *[]string, check func(string) error, name, usage string) {
	t.value(listValue{to, check}, name, usage)
}

func (t *table) port(to *int, name, usage string) {
	t.value(intValue[int]{to: to, max: 65535}, name, usage)
}

func (t *table) seconds(to *time.Duration, name, usage string) {
	t.value(timeValue{to, time.Second}, name, usage)
}

func (t *table) milliseconds(to *time.Duration, name, usage string) {
	t.value(timeValue{to, time.Millisecond}, name, usage)
}

// encryption adds the flags for TLS of one service.
func (t *table) encryption(to *server.TLS, service, title string) {
	t.boolean(&to.Allow, service+"-use-ssl", "Encrypt "+title+" with TLS.")
	t.boolean(&to.Mutual, service+"-use-ssl-mutual",
		"Encrypt "+title+" with TLS and require client certificates that the root certificate has signed.")
	t.text(&to.Cert, service+"-server-cert", "PEM file of the server's certificate. It is read again when it changes.")
	t.text(&to.Key, service+"-server-key", "PEM file of the server's private key.")
	t.text(&to.Root, service+"-root-cert", "PEM file of the root certificate for client certificates.")
}

// unused adds a flag whose values are checked and have no effect.
func (t *table) unused(v pflag.Value, name, usage, why string) {
	t.value(v, name, usage+" Accepted; has no effect: "+why+".")
	t.noEffect[name] = why
}

// warnings returns one line for each flag that is set and has no effect.
func (t *table) warnings() []string {
	var all []string
	for _, name := range t.Names() {
		if why := t.noEffect[name]; why != "" && t.Changed(name) {
			all = append(all, "Warning: '--"+name+"' has no effect: "+why+".")
		}
	}
	return all
}
