package a2ui

import "github.com/switchboard-otel/switchboard/app/queue"

// MaxRows is how many todos the surface of a queue shows, the newest.
const MaxRows = 50

// Queue draws the newest todos of a queue; more says that there are older ones.
func Queue(name string, rows []queue.Row, more bool) ([]byte, error) {
	s := &surface{id: "queue-" + name}
	parts := []string{s.text("h1", "Queue "+name)}
	for i := range rows {
		parts = append(parts, s.card(rows[i].Title, standingOf(&rows[i]), rows[i].ID.String()+", created "+stamp(rows[i].CreatedAt)))
	}
	switch {
	case len(rows) == 0:
		parts = append(parts, s.text("body", "Nothing is in this queue."))
	case more:
		parts = append(parts, s.text("caption", "Older todos are not shown."))
	}
	return s.document(parts...)
}
