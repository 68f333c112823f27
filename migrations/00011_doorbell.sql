-- +goose Up
-- How often the bell was rung for a todo since it last became ready, and when it is rung again; null: no more.
-- A claim makes the row stale instead of changing it: attempts_total is the todo's, as it was at the last ring.
CREATE TABLE todo_rings (
    todo_id        uuid PRIMARY KEY REFERENCES todos ON DELETE CASCADE,
    attempts_total integer NOT NULL,
    rings          integer NOT NULL,
    next_at        timestamptz
) WITH (fillfactor = 80);
