package board

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

// The scripts of others are the files that their makers published to npm, so that nobody has to read what we might
// have changed in them.
func TestVendoredScripts_AreTheReleasedFiles(t *testing.T) {
	t.Parallel()
	for name, released := range map[string]string{
		"htmx/htmx.min.js":          "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717", // htmx.org 2.0.11
		"htmx/sse.min.js":           "98a46496de0c3605fbffdce9167ba427bdd9553184f83f149c261891a92c0136", // htmx-ext-sse 2.2.4
		"htmx/idiomorph-ext.min.js": "5811b9a7eda14878b7dab4378bf60432e1bb6f11fcfb970cc26540642650181e", // idiomorph 0.8.0
	} {
		if sum := sha256.Sum256(files[name].content); hex.EncodeToString(sum[:]) != released {
			t.Errorf("static/%s is not the file that was released", name)
		}
	}
}
