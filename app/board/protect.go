package board

import (
	"errors"
	"net/http"
	"net/url"
)

// maxBody is what a human route reads of a request (decisions.md 51).
const maxBody = 1 << 20

// contentSecurity is the policy of board.md section 4. Inline style carries the two numbers of a bar and
// nothing else; there is no inline script.
const contentSecurity = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

// secured sets the headers that every answer of the Board carries. The referrer policy keeps one-time links
// from other sites and still lets browsers say where a form comes from. Nothing may be kept but what says so itself.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentSecurity)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// bounded refuses a body over maxBody, before and while it is read, and reads forms once for all handlers.
func (b *board) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		var tooLarge *http.MaxBytesError
		switch err := r.ParseForm(); {
		case r.ContentLength > maxBody, errors.As(err, &tooLarge):
			b.refuse(w, r, tooLargePage)
		case err != nil:
			b.refuse(w, r, badRequestPage)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// sameOrigin refuses forms that another site sent. Behind a proxy the browser's origin is the base URL's,
// whatever host the proxy asks for.
func (b *board) sameOrigin(base *url.URL) (*http.CrossOriginProtection, error) {
	p := http.NewCrossOriginProtection()
	p.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { b.refuse(w, r, crossOriginPage) }))
	return p, p.AddTrustedOrigin(base.Scheme + "://" + base.Host)
}
