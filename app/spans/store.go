package spans

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/switchboard-otel/switchboard/app/settings"
)

// Store writes and reads span rows, their counts and the traces they taught. It is safe for concurrent use.
type Store struct {
	pool     *pgxpool.Pool
	settings *settings.Reader
	minted   mintedCache
}

// NewStore returns a store over pool, with the caps that settings holds at the time of each request.
func NewStore(pool *pgxpool.Pool, settings *settings.Reader) *Store {
	return &Store{pool: pool, settings: settings, minted: newMintedCache()}
}
