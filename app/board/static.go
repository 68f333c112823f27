package board

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"time"
)

//go:embed static
var staticFiles embed.FS

// file is an embedded file with what its answers need.
type file struct {
	content []byte
	media   string
	digest  string // of the content, hex
}

// files holds everything below static/ by its path there. Licences ship with what they cover, but are no
// assets of a page.
var files = func() map[string]file {
	out := map[string]file{}
	root, err := fs.Sub(staticFiles, "static")
	if err != nil {
		panic(err)
	}
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || mediaOf(name) == "" {
			return err
		}
		content, err := fs.ReadFile(root, name)
		sum := sha256.Sum256(content)
		out[name] = file{content, mediaOf(name), hex.EncodeToString(sum[:8])}
		return err
	})
	if err != nil {
		panic(err)
	}
	return out
}()

func mediaOf(name string) string {
	switch path.Ext(name) {
	case ".css", ".js", ".svg":
		return mime.TypeByExtension(path.Ext(name))
	case ".woff2":
		return "font/woff2"
	default:
		return ""
	}
}

// asset is the address of an embedded file. It changes with the content, so that it may be kept for ever.
func asset(name string) string { return "/static/" + name + "?v=" + files[name].digest }

// serveStatic answers an embedded file. One asked for by its current digest never changes; any other,
// such as a font named in the style sheet, is asked for again once an hour.
func serveStatic(w http.ResponseWriter, r *http.Request) {
	f, ok := files[r.PathValue("file")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.media)
	h.Set("ETag", `"`+f.digest+`"`)
	h.Set("Cache-Control", "public, max-age=3600")
	if r.URL.Query().Get("v") == f.digest {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.content))
}
