package routing

import (
	"errors"
)

// What a payload may measure for rules to look at it. Decoded, small values take many times their bytes, so
// their memory is estimated from the text first.
const (
	maxDecodedBytes = 16 << 20
	maxDepth        = 200
	maxDigits       = 1000 // of one number; longer ones take long to read
	maxBits         = 8 * maxDigits
)

var (
	errPayloadJSON  = errors.New("the payload is not JSON")
	errPayloadLarge = errors.New("the payload has too many values for rules to look at")
	errPayloadDeep  = errors.New("the payload is nested too deeply for rules to look at")
	errPayloadDigit = errors.New("the payload has a number of too many digits for rules to look at")
)

// estimate is at most how many bytes a JSON text takes when decoded, give or take what the runtime rounds up:
// a map holds eight members at once, a growing list up to twice its length.
func estimate(text []byte) (decoded int, err error) {
	const (
		perObject = 48 + 8*32
		perMember = 2 * 48
		perValue  = 2 * 40
	)
	var depth, number int
	inString := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if inString {
			decoded++
			if c == '\\' {
				i++
			}
			inString = c != '"'
			continue
		}
		if c >= '0' && c <= '9' {
			if number++; number > maxDigits {
				return 0, errPayloadDigit
			}
			decoded++
			continue
		}
		number = 0
		switch c {
		case '"':
			inString = true
		case '{':
			depth++
			decoded += perObject
		case '[':
			depth++
			decoded += perValue
		case '}', ']':
			depth--
		case ',':
			decoded += perValue
		case ':':
			decoded += perMember
		}
		if depth > maxDepth {
			return 0, errPayloadDeep
		}
		if decoded > maxDecodedBytes {
			return 0, errPayloadLarge
		}
	}
	return decoded, nil
}
