// API keys are made here, and their file is read and written: it holds a hash of each key, never the
// key. Keys are random and long, so that a plain SHA-256 suffices: there is nothing to
// guess that a slow hash would protect.

package access

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	// apiKeyPrefix lets scanners of source code recognize a key that was published by mistake.
	apiKeyPrefix = "triton_"
	apiKeyScheme = "sha256:"
	maxKeyFile   = 16 << 20
	apiKeyBytes  = 32
	// apiKeyLength is the length of each key.
	apiKeyLength = len(apiKeyPrefix) + 43
)

// APIKey is one key in a file.
type APIKey struct {
	Owner   string
	Created time.Time
	Expires time.Time // zero: never
	hash    [sha256.Size]byte
}

// ID returns a name of the key that is no secret.
func (e *APIKey) ID() string { return hex.EncodeToString(e.hash[:4]) }

// expired reports whether the key has ended.
func (e *APIKey) expired(now time.Time) bool { return !e.Expires.IsZero() && !now.Before(e.Expires) }

// NewAPIKey makes a key. Only its entry is to be kept.
func NewAPIKey(owner string, created, expires time.Time) (key string, e APIKey, err error) {
	if err := checkOwner(owner); err != nil {
		return "", APIKey{}, err
	}
	var b [apiKeyBytes]byte
	_, _ = rand.Read(b[:]) // never fails
	key = apiKeyPrefix + base64.RawURLEncoding.EncodeToString(b[:])
	return key, APIKey{Owner: owner, Created: created.UTC().Truncate(time.Second), Expires: expires.UTC().Truncate(time.Second), hash: sha256.Sum256([]byte(key))}, nil
}

func checkOwner(owner string) error {
	if owner == "" || len(owner) > 128 {
		return errors.New("the owner of a key needs 1 to 128 characters")
	}
	for _, c := range []byte(owner) {
		if c <= ' ' || c >= 0x7F || c == '#' || c == '*' || c == '?' {
			return fmt.Errorf("owner %q: letters, digits and signs other than #, * and ? are allowed", owner)
		}
	}
	return nil
}

// ParseAPIKeys reads a file of keys: a line "<owner> sha256:<hash> created=<time> [expires=<time>]" for
// each key, and comments after #. The error lists all mistakes with their lines.
func ParseAPIKeys(text []byte) ([]APIKey, error) {
	if len(text) > maxKeyFile {
		return nil, fmt.Errorf("has %d bytes, may have %d", len(text), maxKeyFile)
	}
	var entries []APIKey
	var errs []error
	seen := map[[sha256.Size]byte]int{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	n := 0
	for lines.Scan() {
		n++
		line, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		e, err := parseEntry(fields)
		if first := seen[e.hash]; err == nil && first > 0 {
			err = fmt.Errorf("the key is in line %d already", first)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", n, err))
			continue
		}
		seen[e.hash] = n
		entries = append(entries, e)
	}
	if err := lines.Err(); err != nil {
		errs = append(errs, fmt.Errorf("line %d: %w", n+1, err))
	}
	return entries, errors.Join(errs...)
}

// parseEntry reads a line. Its errors do not quote the line: somebody may have put a key there.
func parseEntry(fields []string) (e APIKey, err error) {
	if len(fields) < 2 {
		return e, errors.New("expected <owner> sha256:<hash>")
	}
	if e.Owner = fields[0]; checkOwner(e.Owner) != nil {
		return e, errors.New("the first word is no owner")
	}
	digits, ok := strings.CutPrefix(fields[1], apiKeyScheme)
	hash, err := hex.DecodeString(digits)
	if !ok || err != nil || len(hash) != sha256.Size {
		return e, errors.New("the second word is not sha256: and 64 hexadecimal digits")
	}
	copy(e.hash[:], hash)
	for _, f := range fields[2:] {
		name, value, _ := strings.Cut(f, "=")
		at, err := time.Parse(time.RFC3339, value)
		switch {
		case err != nil:
			return e, errors.New("expected created=<time> or expires=<time> with a time such as 2027-01-31T00:00:00Z")
		case name == "created":
			e.Created = at
		case name == "expires":
			e.Expires = at
		default:
			return e, errors.New("expected created=<time> or expires=<time>")
		}
	}
	return e, nil
}

// FormatAPIKeys returns the file of the entries.
func FormatAPIKeys(entries []APIKey) []byte {
	b := []byte("# API keys. Each line has an owner and the SHA-256 of a key; the key itself is kept nowhere.\n")
	for i := range entries {
		e := &entries[i]
		b = fmt.Appendf(b, "%s %s%x", e.Owner, apiKeyScheme, e.hash)
		for _, t := range []struct {
			name string
			at   time.Time
		}{{"created", e.Created}, {"expires", e.Expires}} {
			if !t.at.IsZero() {
				b = fmt.Appendf(b, " %s=%s", t.name, t.at.UTC().Format(time.RFC3339))
			}
		}
		b = append(b, '\n')
	}
	return b
}
