// Package values says how a pool's connections read and write values.
package values

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	pgxuuid "github.com/vgarvardt/pgx-google-uuid/v5"
)

// Configure makes the pool read every time in UTC, whatever zone the process runs in: a surface that shows a
// time shows it as the database has it. Ids travel in binary; through database/sql's interfaces, which pgx
// falls back to, spelling and parsing them was a fifth of what a claim cost this process.
func Configure(cfg *pgxpool.Config) {
	cfg.ConnConfig.RuntimeParams["timezone"] = "UTC"
	cfg.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		types := conn.TypeMap()
		types.RegisterType(&pgtype.Type{
			Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
		})
		pgxuuid.Register(types)
		return nil
	}
}
