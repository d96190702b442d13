package traffic

import "math"

// Requests with the same key go to the same target by weighted rendezvous hashing: each target
// draws a number from the key and its own name, and the best one wins. A target whose weight
// grows wins keys from the others, and one whose weight shrinks loses some, but no key moves
// between two targets whose weights keep their ratio (Thaler and Ravishankar 1998; Schindelhauer
// and Schomaker 2005). The hash is fixed, so that all servers of a fleet choose alike.

// hashBytes is FNV-1a, 64 bits.
func hashBytes[T string | []byte](seed uint64, s T) uint64 {
	h := seed ^ 14695981039346656037
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// mix is the finalizer of SplitMix64: it spreads every bit of x over the result.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// uniform returns a number above 0 and below 1.
func uniform(x uint64) float64 { return (float64(x>>11) + 0.5) / (1 << 53) }

// score returns what a target draws for a key. The lowest score wins: it has an exponential
// distribution whose rate is the weight.
func score(key, target uint64, weight float64) float64 {
	return -math.Log(uniform(mix(key^target))) / weight
}
