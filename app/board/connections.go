package board

import (
	"net/http"

	"github.com/switchboard-otel/switchboard/app/typeid"
)

// disconnect ends what the human allowed an OAuth client: its tokens stop working at once.
func (b *board) disconnect(w http.ResponseWriter, r *http.Request, v viewer) error {
	said := "That client is not connected any more."
	if grant, ok := typeid.Grant.Parse(r.PostFormValue("connection")); ok && b.OAuth != nil {
		if _, err := b.OAuth.Disconnect(r.Context(), v.human.ID, grant); err != nil {
			return err
		}
	}
	b.say(r.Context(), said)
	http.Redirect(w, r, "/settings", http.StatusSeeOther)
	return nil
}
