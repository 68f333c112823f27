package spans

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// Trim drops the attributes beyond MaxAttributes, by the order of decisions.md 24, and marks the span if it
// did or if something was cut before. It bounds the work of masking; Seal has the last word.
func Trim(attrs pcommon.Map, cut bool) {
	if attrs.Len() < MaxAttributes {
		mark(attrs, cut)
		return
	}
	limit(attrs, cut, math.MaxInt)
}

// Seal drops the attributes beyond MaxAttributes and MaxAttributesBytes, by the order of decisions.md 24, and
// marks the span if it did, if something was cut before, or if it was marked already. One that does not fit
// is dropped alone: a shorter one behind it may still. Reserved attributes are left alone and not counted
// (decisions.md 14).
func Seal(attrs pcommon.Map, cut bool) {
	if attrs.Len() < MaxAttributes && surelyFit(attrs) {
		mark(attrs, cut)
		return
	}
	limit(attrs, cut, MaxAttributesBytes)
}

func mark(attrs pcommon.Map, cut bool) {
	if cut {
		attrs.PutBool(TruncatedKey, true)
	}
}

// surelyFit spares most spans the measuring: it counts every byte of text as the longest escape, and gives up
// on what it would have to walk.
func surelyFit(attrs pcommon.Map) bool {
	const (
		escape  = len(`\u0000`)
		double  = 330 // bytes of the longest one without an exponent
		integer = 20
	)
	size := len(`{"` + TruncatedKey + `": true}`)
	for key, v := range attrs.All() {
		size += escape * len(key)
		switch v.Type() {
		case pcommon.ValueTypeStr:
			size += escape * len(v.Str())
		case pcommon.ValueTypeMap, pcommon.ValueTypeSlice, pcommon.ValueTypeBytes:
			return false
		case pcommon.ValueTypeDouble:
			size += double
		default:
			size += integer
		}
		size += len(`"": "", `)
	}
	return size <= MaxAttributesBytes
}

func limit(attrs pcommon.Map, cut bool, mostBytes int) {
	const markerSize = len(`"` + TruncatedKey + `": true, `)
	candidates, size, marked := candidatesOf(attrs, mostBytes)
	most, mostBytes := MaxAttributes, mostBytes-len("{}")+len(", ") // no separator behind the last one
	cut = cut || marked
	if cut || len(candidates) > most || size > mostBytes {
		cut = true
		most, mostBytes = most-1, mostBytes-markerSize
	}
	if len(candidates) > most || size > mostBytes {
		drop(attrs, choose(candidates, most, mostBytes))
	}
	mark(attrs, cut)
}

// candidate is an attribute that may be kept.
type candidate struct {
	key   string
	place place
	at    int // index in the map
	size  int // bytes that the database writes for it, with a separator behind it
}

// candidatesOf returns the attributes that count, the marker aside. Sizes are measured only if they matter.
func candidatesOf(attrs pcommon.Map, mostBytes int) (candidates []candidate, size int, marked bool) {
	candidates = make([]candidate, 0, attrs.Len())
	var e encoder
	at := -1
	for key, v := range attrs.All() {
		at++
		if key == TruncatedKey {
			marked = true
			continue
		}
		if strings.HasPrefix(key, ReservedPrefix) {
			continue
		}
		c := candidate{key: key, place: placeOf(key), at: at}
		if mostBytes < math.MaxInt {
			e = encoder{buf: e.buf[:0], limit: mostBytes}
			e.string(key)
			e.separator(':')
			e.attribute(v)
			c.size = len(e.buf) + e.separators + len(", ")
			size += c.size
		}
		candidates = append(candidates, c)
	}
	return candidates, size, marked
}

// choose returns the indexes of the attributes that are kept when so many and so many bytes may be.
func choose(candidates []candidate, most, mostBytes int) (kept map[int]bool) {
	slices.SortFunc(candidates, func(a, b candidate) int {
		return cmp.Or(
			cmp.Compare(a.place.rank, b.place.rank),
			cmp.Compare(a.place.index, b.place.index),
			strings.Compare(a.key, b.key),
		)
	})
	kept = make(map[int]bool, most)
	size := 0
	for _, c := range candidates {
		if len(kept) == most {
			break
		}
		if size+c.size <= mostBytes {
			size += c.size
			kept[c.at] = true
		}
	}
	return kept
}

// drop removes the attributes that count and are not kept.
func drop(attrs pcommon.Map, kept map[int]bool) {
	at := -1
	attrs.RemoveIf(func(key string, _ pcommon.Value) bool {
		at++
		return !kept[at] && key != TruncatedKey && !strings.HasPrefix(key, ReservedPrefix)
	})
}
