package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/switchboard-otel/switchboard/app/postgres/embedded"
	"github.com/switchboard-otel/switchboard/app/postgres/values"
)

// connectTimeout bounds one attempt to connect when the URL names no connect_timeout of its own.
const connectTimeout = 10 * time.Second

// errURL says nothing about the URL itself: when it cannot be parsed, nobody knows which part is the password.
var errURL = errors.New("the database URL is not one of PostgreSQL; write SWITCHBOARD_DATABASE_URL as postgres://user:password@host:5432/database")

func parseURL(url string) (*pgx.ConnConfig, error) {
	pool, err := pgxpool.ParseConfig(url) // knows the pool_ parameters, which pgx alone would send to the server
	if err != nil {
		return nil, errURL
	}
	conn := pool.ConnConfig
	if strings.ContainsAny(conn.Host, "@:/ ") && !strings.HasPrefix(conn.Host, "/") && net.ParseIP(conn.Host) == nil {
		return nil, errURL // an unescaped character has put a part of the password into the host
	}
	if conn.ConnectTimeout == 0 {
		conn.ConnectTimeout = connectTimeout
	}
	conn.RuntimeParams["application_name"] = "switchboard"
	conn.RuntimeParams["timezone"] = "UTC"
	return conn, nil
}

// newPool makes a pool that connects when it is first used. params are further parameters of its sessions.
func newPool(url, name string, cfg, defaults PoolConfig, params map[string]string) (*pgxpool.Pool, error) {
	pool, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errURL
	}
	if pool.ConnConfig, err = parseURL(url); err != nil {
		return nil, err
	}
	pool.MaxConns = cmp.Or(cfg.MaxConns, defaults.MaxConns)
	for param, value := range map[string]string{
		"application_name":                    name,
		"statement_timeout":                   milliseconds(cmp.Or(cfg.StatementTimeout, defaults.StatementTimeout)),
		"lock_timeout":                        milliseconds(cmp.Or(cfg.LockTimeout, defaults.LockTimeout)),
		"idle_in_transaction_session_timeout": milliseconds(cmp.Or(cfg.IdleInTransactionTimeout, defaults.IdleInTransactionTimeout)),
	} {
		pool.ConnConfig.RuntimeParams[param] = value
	}
	maps.Copy(pool.ConnConfig.RuntimeParams, params)
	values.Configure(pool)
	return pgxpool.NewWithConfig(context.Background(), pool)
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// checkServer connects once and refuses a server that cannot hold our data. It returns the server's major version.
func checkServer(ctx context.Context, cfg *pgx.ConnConfig) (int, error) {
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return 0, fmt.Errorf("cannot reach PostgreSQL at %s: %s", cfg.Host, reason(err))
	}
	defer conn.Close(context.WithoutCancel(ctx))
	major := parseMajor(conn.PgConn().ParameterStatus("server_version"))
	if err := embedded.CheckMajor(major); err != nil {
		return 0, err
	}
	if encoding := conn.PgConn().ParameterStatus("server_encoding"); encoding != "UTF8" {
		return 0, fmt.Errorf("database %s has the encoding %s: Switchboard needs one that was created with ENCODING 'UTF8'", cfg.Database, encoding)
	}
	return major, nil
}

// parseMajor reads the major version out of what the server reports, such as "15.14 (Debian 15.14-0+deb12u1)", "17beta2" or
// "9.6.24"; 0 when it is something else.
func parseMajor(version string) int {
	digits := len(version) - len(strings.TrimLeft(version, "0123456789"))
	major, _ := strconv.Atoi(version[:digits])
	return major
}

// reason says in a few words why the database did not answer. pgx's own text names user and database and has a line for
// every address it tried.
func reason(err error) string {
	var server *pgconn.PgError
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &server):
		return server.Message
	case errors.Is(err, context.DeadlineExceeded):
		return "it did not answer in time"
	case errors.As(err, &dns):
		return "the host name " + dns.Name + " was not found"
	case errors.As(err, &op) && op.Err != nil:
		return op.Err.Error()
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		if err = connect.Unwrap(); err == nil {
			return "it cannot be reached"
		}
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}
