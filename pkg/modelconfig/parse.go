package modelconfig

// Parse reads a configuration in protobuf text format. The file name is only
// for messages. The error joins one *SyntaxError per mistake; the
// configuration is then nil.
func Parse(file string, src []byte) (*Config, error) { return parse(file, src) }
