package spans

// jsonbFits reports whether the database writes attributes, as EncodeAttributes made them, in at most most
// bytes: it puts a blank behind every separator, and changes nothing else.
func jsonbFits(attributes []byte, most int) bool {
	size := len(attributes)
	if 2*size <= most {
		return true
	}
	inString := false
	for i := 0; i < len(attributes); i++ {
		switch c := attributes[i]; {
		case c == '"':
			inString = !inString
		case c == '\\':
			i++
		case !inString && (c == ',' || c == ':'):
			size++
		}
	}
	return size <= most
}
