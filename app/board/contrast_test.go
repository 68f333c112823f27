package board

import (
	"math"
	"regexp"
	"strconv"
	"testing"
)

// pair is a foreground on a background that the style sheet uses, with the contrast WCAG 2.1 AA asks for.
type pair struct {
	fore, back string
	least      float64
}

// contrastPairs lists every pair in use: text needs 4.5, lamps, bars and outlines of controls need 3.
func contrastPairs() (all []pair) {
	grounds := []string{"canvas", "surface", "sunken", "raised", "hover", "select"}
	add := func(least float64, fore string, backs ...string) {
		for _, back := range backs {
			all = append(all, pair{fore, back, least})
		}
	}
	for _, ink := range []string{"ink", "ink-2", "ink-3", "accent"} {
		add(4.5, ink, grounds...)
	}
	add(4.5, "on-accent", "accent", "accent-strong")
	add(3, "accent", grounds...)
	add(3, "control", "canvas", "surface", "sunken", "raised")
	add(3, "brass", "canvas", "surface", "raised")
	for _, s := range []string{"wait", "live", "done", "retry", "dead", "died", "ask", "off"} {
		add(4.5, s+"-ink", s+"-tint", "surface", "canvas", "raised")
		add(4.5, "ink", s+"-tint")
		add(4.5, "ink-2", s+"-tint")
		add(3, s+"-mark", s+"-tint", "surface", "canvas", "sunken", "raised", "hover")
	}
	add(4.5, "live-ink", "hover", "sunken")
	add(4.5, "dead-ink", "hover", "sunken")
	add(4.5, "died-ink", "sunken")
	for _, c := range []string{"reason", "tool", "net", "read", "internal", "other"} {
		add(4.5, "cat-"+c+"-ink", "surface", "canvas", "hover", "sunken", "select")
		add(3, "cat-"+c+"-bar", "surface", "sunken", "hover", "select")
	}
	add(3, "dead-mark", "select")
	return all
}

func TestTokens_HaveTheContrastOfWCAG(t *testing.T) {
	t.Parallel()
	tokens := map[string][2]string{}
	sheet := regexp.MustCompile(`--sb-([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)`)
	for _, m := range sheet.FindAllStringSubmatch(string(files["tokens.css"].content), -1) {
		tokens[m[1]] = [2]string{m[2], m[3]}
	}
	for _, p := range contrastPairs() {
		fore, known := tokens[p.fore]
		back, also := tokens[p.back]
		if !known || !also {
			t.Errorf("%s on %s: no such token", p.fore, p.back)
			continue
		}
		for i, theme := range []string{"light", "dark"} {
			if got := contrast(t, fore[i], back[i]); got < p.least {
				t.Errorf("%s on %s in the %s theme: %.2f, needs %.1f", p.fore, p.back, theme, got, p.least)
			}
		}
	}
}

// contrast is the ratio of WCAG 2.1, 1 to 21.
func contrast(t *testing.T, a, b string) float64 {
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(t *testing.T, hex string) float64 {
	var parts [3]float64
	for i := range parts {
		v, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(v) / 255
		if c <= 0.04045 {
			parts[i] = c / 12.92
		} else {
			parts[i] = math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return 0.2126*parts[0] + 0.7152*parts[1] + 0.0722*parts[2]
}
