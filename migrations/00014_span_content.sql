-- +goose Up
-- A hash of a span's content as its request spelled it: a request that is sent again is known by it, without its
-- columns. Null, of a row from before, says nothing.
ALTER TABLE todo_spans ADD COLUMN content_hash bigint;
