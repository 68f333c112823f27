package postgres

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/zap"
)

// Field describes an error for a log. Of what the server said it keeps the SQLSTATE and the names of table and
// constraint: its message and detail can quote a note, a summary or an attribute.
func Field(err error) zap.Field {
	var server *pgconn.PgError
	if errors.As(err, &server) {
		return zap.String("error", fmt.Sprintf("sqlstate %s table %q constraint %q", server.Code, server.TableName, server.ConstraintName))
	}
	if Unavailable(err) {
		return zap.String("error", reason(err)) // of a connection: it was before any statement, or says only how it broke
	}
	return zap.String("error", fmt.Sprintf("%T", rootOf(err)))
}

// Hide returns err with the text of Field in place of its own, for whoever logs or answers what it is given. What it
// wraps can still be found in it.
func Hide(err error) error {
	if err == nil {
		return nil
	}
	return hidden{err}
}

type hidden struct{ error }

func (h hidden) Error() string { return Field(h.error).String }
func (h hidden) Unwrap() error { return h.error }

// rootOf unwraps to the innermost error: its type tells what happened, its text could quote a value.
func rootOf(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
