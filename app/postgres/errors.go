package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"github.com/switchboard-otel/switchboard/app/fault"
)

// Unavailable says that the database could not do its work now and may later: it cannot be reached, it stops or starts, it
// has no room, a timeout ran out, a transaction lost against others. What the statement wanted is not known to
// be wrong, and, when the connection broke at commit, not known to be undone. Callers answer 503 and keep no state.
func Unavailable(err error) bool {
	if err == nil {
		return false
	}
	// Whatever a server says to one who connects, such as a wrong password, means the same to a caller: no answer.
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		return true
	}
	if code := sqlState(err); code != "" {
		return unavailableState(code)
	}
	var network net.Error
	return errors.As(err, &network) ||
		pgconn.Timeout(err) ||
		errors.Is(err, pgconn.ErrConnClosed) ||
		errors.Is(err, puddle.ErrClosedPool) ||
		errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, context.Canceled) || // ours, at shutdown: nobody waits for another's answer
		errors.Is(err, net.ErrClosed) ||
		errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF)
}

// Fault is what a caller hears of an error of the database, nil when it is no such error or only our own
// mistake. Nothing was changed where the server refused the work or never got it; when a connection broke
// under a statement nobody knows, and the caller must look.
func Fault(err error) *fault.Error {
	switch {
	case !Unavailable(err):
		return nil
	case undone(err):
		return fault.ErrUnavailable
	default:
		return fault.ErrUnknownOutcome
	}
}

func undone(err error) bool {
	var connect *pgconn.ConnectError
	return sqlState(err) != "" || errors.As(err, &connect) || pgconn.SafeToRetry(err) || errors.Is(err, puddle.ErrClosedPool)
}

func unavailableState(code string) bool {
	switch code[:2] {
	case "08", // connection exception
		"53", // insufficient resources: disk, memory, connections
		"58": // system error, such as a failed read or write
		return true
	}
	switch code {
	case "57P01", "57P02", "57P03", "57P04", "57P05", // the server stops, crashed, starts; the database or session was ended
		"57014",                   // statement timeout, or somebody cancelled the statement
		"55P03",                   // lock timeout
		"25P03", "25P04", "25006": // idle or long transaction ended; read-only since a failover
		return true
	}
	return retryableState(code)
}

// Retryable says that a transaction lost against another one and that the same again may win: a serialization failure or
// a deadlock. The database has undone it.
func Retryable(err error) bool { return retryableState(sqlState(err)) }

func retryableState(code string) bool { return code == "40001" || code == "40P01" }

// Refused says that the database understood and will never accept these values: they break a constraint, do not fit their
// type, or are too large. The same again is refused again.
func Refused(err error) bool {
	code := sqlState(err)
	return strings.HasPrefix(code, "22") || // data exception
		strings.HasPrefix(code, "23") || // integrity constraint violation
		strings.HasPrefix(code, "54") // program limit exceeded
}

// sqlState is the five-letter code that the server gave, empty for an error of another origin.
func sqlState(err error) string {
	var server *pgconn.PgError
	if errors.As(err, &server) && len(server.Code) == 5 {
		return server.Code
	}
	return ""
}
