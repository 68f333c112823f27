-- +goose Up
-- The one clock of all SQL. Leases are decided by the database's time, never by a process's, and a test
-- moves time by replacing this function. Volatile on purpose: read it once per statement, through a CTE.
CREATE FUNCTION sb_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT clock_timestamp()';

-- Keys an operator may change while the service runs. A missing or unreadable row means the default.
CREATE TABLE settings (
    key   text PRIMARY KEY,
    value text NOT NULL
);
