package postgres

import "time"

// SetCloseGrace shortens the patience of Close.
func (db *DB) SetCloseGrace(d time.Duration) { db.closeGrace = d }
