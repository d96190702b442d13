package cli

import "strconv"

func (s *serveFlags) defineCache(b *flagBook) {
	b.group("Response Cache")
	var settings []string
	b.list(&settings, "cache-config", "<cache>,<setting>=<value> for the response cache, local or redis; may be repeated.",
		func(v string) error { _, err := cacheSetting(v); return err })
	b.unused(checkedValue{"string", &s.opts.Cache.Directory, func(string) error { return nil }}, "cache-directory", "Folder of cache libraries.", "caches are part of this program, not libraries")
	s.finally(func() error {
		if len(settings) > 0 && b.given("response-cache-byte-size") {
			return said("Error: Incompatible flags --response-cache-byte-size and --cache-config both provided. Please provide one or the other.")
		}
		for _, v := range settings {
			set, err := cacheSetting(v)
			switch {
			case err != nil:
				return badOption("cache-config", err.Error())
			case s.opts.Cache.Name != "" && s.opts.Cache.Name != set.name:
				return said("creating server: Invalid argument - found multiple cache configurations, but only a single cache is currently supported")
			}
			s.cacheSetting(set.name, set.key, set.value)
		}
		s.redisUser()
		return nil
	})
}

// redisUser takes from the environment what flags do not say, so that no password
// stands on a command line.
func (s *serveFlags) redisUser() {
	if s.opts.Cache.Name != "redis" {
		return
	}
	for key, name := range map[string]string{"user": "TRITONCACHE_REDIS_USERNAME", "password": "TRITONCACHE_REDIS_PASSWORD"} {
		if text := s.getenv(name); text != "" && s.opts.Cache.Settings[key] == "" {
			s.opts.Cache.Settings[key] = text
		}
	}
}

func (s *serveFlags) cacheSetting(name, key, value string) {
	s.opts.Cache.Name = name
	if s.opts.Cache.Settings == nil {
		s.opts.Cache.Settings = map[string]string{}
	}
	s.opts.Cache.Settings[key] = value
}

func (s *serveFlags) defineCacheSize(b *flagBook) {
	size := int64(0)
	b.integer(intValue{to: &size, min: minInt, max: maxInt}, "response-cache-byte-size", "Use --cache-config local,size=<bytes>.")
	s.finally(func() error {
		if b.given("response-cache-byte-size") {
			text := strconv.FormatInt(size, 10)
			s.warn("Warning: '--response-cache-byte-size' has been deprecated! This will default to the 'local' cache implementation with " +
				"the provided byte size for its config. Please use '--cache-config' instead. The equivalent --cache-config CLI args would be: " +
				"'--cache-config=local,size=" + text + "'")
			s.cacheSetting("local", "size", text)
		}
		return nil
	})
}
