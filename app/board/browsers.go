package board

import "strings"

// browserOf names a browser and its system as its user-agent line does, for a list in which a human finds their own
// devices. What it does not know it calls a browser.
func browserOf(agent string) string {
	name := firstOf(agent, "A browser", [][2]string{{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"},
		{"HeadlessChrome/", "Chromium"}, {"Chrome/", "Chrome"}, {"CriOS/", "Chrome"}, {"FxiOS/", "Firefox"}, {"Safari/", "Safari"}})
	system := firstOf(agent, "", [][2]string{{"iPhone", "iOS"}, {"iPad", "iPadOS"}, {"Android", "Android"}, {"CrOS", "ChromeOS"},
		{"Windows", "Windows"}, {"Mac OS X", "macOS"}, {"Linux", "Linux"}})
	if system == "" {
		return name
	}
	return name + " on " + system
}

func firstOf(text, otherwise string, names [][2]string) string {
	for _, n := range names {
		if strings.Contains(text, n[0]) {
			return n[1]
		}
	}
	return otherwise
}
