package apikey

import (
	"crypto/sha256"
	"crypto/subtle"
	"time"

	"triton/server/access/policy"
)

// Keys finds the owners of keys. It does not change.
type Keys struct{ byHash map[[sha256.Size]byte]*owned }

type owned struct {
	Entry
	principal *policy.Principal
}

// NewKeys returns the keys of a file.
func NewKeys(entries []Entry) *Keys {
	k := &Keys{byHash: make(map[[sha256.Size]byte]*owned, len(entries))}
	for _, e := range entries {
		k.byHash[e.hash] = &owned{e, policy.NewPrincipal("key:" + e.Owner)}
	}
	return k
}

// Len returns the number of keys.
func (k *Keys) Len() int { return len(k.byHash) }

// Find returns the owner of a key that is known and has not expired. Its time depends on the
// hash of the key only, which a caller cannot steer towards the hash of another.
func (k *Keys) Find(key string, now time.Time) (who *policy.Principal, expires time.Time, ok bool) {
	if len(key) != Length {
		return nil, time.Time{}, false
	}
	var text [Length]byte
	copy(text[:], key)
	hash := sha256.Sum256(text[:])
	e := k.byHash[hash]
	if e == nil || subtle.ConstantTimeCompare(e.hash[:], hash[:]) != 1 || e.expired(now) {
		return nil, time.Time{}, false
	}
	return e.principal, e.Expires, true
}
