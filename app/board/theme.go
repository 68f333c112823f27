package board

import "net/http"

// themeOf reads the theme a human chose. Anything else means what the system says.
func themeOf(r *http.Request) string {
	c, err := r.Cookie(themeCookie)
	if err != nil || (c.Value != "light" && c.Value != "dark") {
		return ""
	}
	return c.Value
}

// chooseTheme keeps a choice for a year in a cookie of its own: it outlives the session and holds no secret.
func (b *board) chooseTheme(w http.ResponseWriter, r *http.Request, _ viewer) error {
	c := &http.Cookie{Name: themeCookie, Path: "/", SameSite: http.SameSiteLaxMode, HttpOnly: true, Secure: b.secure, MaxAge: -1}
	if t := r.PostFormValue("theme"); t == "light" || t == "dark" {
		c.Value, c.MaxAge = t, 365*24*60*60
	}
	http.SetCookie(w, c)
	back := r.PostFormValue("back")
	if !local(back) {
		back = "/"
	}
	http.Redirect(w, r, back, http.StatusSeeOther)
	return nil
}
