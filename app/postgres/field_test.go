package postgres_test

import (
	"strings"
	"testing"

	"go.uber.org/zap/zapcore"

	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
)

func TestField_QuotesNoValue(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	if _, err := db.Pool.Exec(t.Context(), "CREATE TABLE things (name text CONSTRAINT one_of_a_name UNIQUE)"); err != nil {
		t.Fatal(err)
	}
	for statement, want := range map[string]string{
		"INSERT INTO things VALUES ('s3cret'), ('s3cret')": `sqlstate 23505 table "things" constraint "one_of_a_name"`,
		"SELECT 's3cret'::int":                             `sqlstate 22P02 table "" constraint ""`,
	} {
		_, err := db.Pool.Exec(t.Context(), statement)
		field := postgres.Field(err)
		if field.Key != "error" || field.Type != zapcore.StringType || field.String != want || strings.Contains(field.String, "s3cret") {
			t.Errorf("Field(%v) = %q, want %q", err, field.String, want)
		}
	}
}
