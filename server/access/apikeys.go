package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"time"

	"triton/server/access/policy"
)

// APIKeys finds the owners of keys. It does not change.
type APIKeys struct{ byHash map[[sha256.Size]byte]*owned }

type owned struct {
	APIKey
	principal *policy.Principal
}

// NewAPIKeys returns the keys of a file.
func NewAPIKeys(entries []APIKey) *APIKeys {
	k := &APIKeys{byHash: make(map[[sha256.Size]byte]*owned, len(entries))}
	for _, e := range entries {
		k.byHash[e.hash] = &owned{e, policy.NewPrincipal("key:" + e.Owner)}
	}
	return k
}

// Len returns the number of keys.
func (k *APIKeys) Len() int { return len(k.byHash) }

// Find returns the owner of a key that is known and has not expired. Its time depends on the
// hash of the key only, which a caller cannot steer towards the hash of another.
func (k *APIKeys) Find(key string, now time.Time) (who *policy.Principal, expires time.Time, ok bool) {
	if len(key) != apiKeyLength {
		return nil, time.Time{}, false
	}
	var text [apiKeyLength]byte
	copy(text[:], key)
	hash := sha256.Sum256(text[:])
	e := k.byHash[hash]
	if e == nil || subtle.ConstantTimeCompare(e.hash[:], hash[:]) != 1 || e.expired(now) {
		return nil, time.Time{}, false
	}
	return e.principal, e.Expires, true
}
