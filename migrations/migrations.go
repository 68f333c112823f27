// Package migrations embeds the numbered schema changes of Switchboard's database. They only go forward:
// a binary that finds a newer schema than its own refuses to start.
package migrations

import "embed"

// FS holds every migration, named NNNNN_what.sql, in the form goose reads.
//
//go:embed *.sql
var FS embed.FS
