package rungraph

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/text"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// MaxImport is the largest document that is kept, in bytes.
const MaxImport = 10 << 20

// maxImports is how many documents a human may keep.
const maxImports = 200

// idPrefix names a kept document.
const idPrefix typeid.Prefix = "rg_"

// ID is the id of a kept document. It is spelled rg_... on every surface.
type ID uuid.UUID

// ParseID reads an id; any other text is no document's.
func ParseID(s string) (ID, bool) {
	id, ok := idPrefix.Parse(s)
	return ID(id), ok
}

func (id ID) String() string { return idPrefix.Format(uuid.UUID(id)) }

// MarshalText spells the id.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// Imported is what is known of a kept document.
type Imported struct {
	ID         ID        `json:"id"`
	SHA256     string    `json:"sha256"` // lower-case hex
	OCP        string    `json:"ocp"`
	RunID      string    `json:"run_id"`
	Producer   string    `json:"producer"`
	Bytes      int       `json:"bytes"`
	ImportedAt time.Time `json:"imported_at"`
}

// The refusals of an import.
var (
	ErrDocumentNotFound = fault.New(fault.NotFound, "no such document")
	ErrTooLarge         = fault.New(fault.Invalid, fmt.Sprintf("a document may hold %d MiB", MaxImport>>20))
	errFull             = fault.New(fault.Conflict, fmt.Sprintf("you keep %d documents already: delete one", maxImports))
)

// The columns of a kept document, in the order of Imported.fields.
const importedColumns = `id, encode(sha256, 'hex'), ocp, run_id, producer, octet_length(document), imported_at`

func (d *Imported) fields() []any {
	return []any{(*uuid.UUID)(&d.ID), &d.SHA256, &d.OCP, &d.RunID, &d.Producer, &d.Bytes, &d.ImportedAt}
}

// Import keeps a document that conforms, byte for byte. The same bytes again are the same document, and created is
// false. Nothing of it becomes a todo or an attempt, and what it claims is worth what its own evidence says.
func (s *Store) Import(ctx context.Context, human uuid.UUID, doc []byte) (d *Imported, created bool, err error) {
	if len(doc) > MaxImport {
		return nil, false, ErrTooLarge
	}
	report, err := Validate(ctx, doc, nil)
	if err != nil {
		return nil, false, err
	}
	if !report.OK() {
		return nil, false, broken(report)
	}
	seen, sum := Read(doc), sha256.Sum256(doc)
	d = &Imported{}
	err = s.pool.QueryRow(ctx, `
		WITH clock AS MATERIALIZED (SELECT sb_now() AS now)
		INSERT INTO rungraph_documents (id, human_id, sha256, ocp, run_id, producer, document, imported_at)
		SELECT $1, $2, $3, $4, $5, $6, $7, clock.now FROM clock
		WHERE (SELECT count(*) FROM rungraph_documents k WHERE k.human_id = $2) < $8
		ON CONFLICT (human_id, sha256) DO NOTHING
		RETURNING `+importedColumns, typeid.New(), human, sum[:], report.Version, text.Clean(seen.RunID),
		text.Clean(seen.Producer), doc, maxImports).Scan(d.fields()...)
	if !errors.Is(err, pgx.ErrNoRows) {
		return d, err == nil, err
	}
	err = s.pool.QueryRow(ctx, `SELECT `+importedColumns+` FROM rungraph_documents WHERE human_id = $1 AND sha256 = $2`,
		human, sum[:]).Scan(d.fields()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, false, errFull
	}
	return d, false, err
}

// broken names the codes; where they are the caller can see without sending the document anywhere.
func broken(report *Report) error {
	var codes []string
	for _, code := range report.Codes() {
		if levelOf(code) == LevelError {
			codes = append(codes, code)
		}
	}
	return fault.New(fault.Invalid, fmt.Sprintf("the document does not conform (%s): switchboard rungraph validate says where",
		strings.Join(codes, ", ")))
}

// Imports lists what a human keeps, newest first.
func (s *Store) Imports(ctx context.Context, human uuid.UUID) ([]Imported, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+importedColumns+` FROM rungraph_documents WHERE human_id = $1 ORDER BY id DESC`, human)
	if err != nil {
		return nil, err
	}
	return pgx.AppendRows([]Imported{}, rows, func(row pgx.CollectableRow) (d Imported, err error) {
		return d, row.Scan(d.fields()...)
	})
}

// Imported returns a kept document with its bytes. A foreign one is unknown: ErrDocumentNotFound.
func (s *Store) Imported(ctx context.Context, human uuid.UUID, id ID) (d *Imported, doc []byte, err error) {
	d = &Imported{}
	err = s.pool.QueryRow(ctx, `SELECT `+importedColumns+`, document FROM rungraph_documents WHERE id = $1 AND human_id = $2`,
		uuid.UUID(id), human).Scan(append(d.fields(), &doc)...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil, ErrDocumentNotFound
	}
	return d, doc, err
}

// Delete forgets a kept document.
func (s *Store) Delete(ctx context.Context, human uuid.UUID, id ID) error {
	tag, err := s.pool.Exec(ctx, `DELETE FROM rungraph_documents WHERE id = $1 AND human_id = $2`, uuid.UUID(id), human)
	if err == nil && tag.RowsAffected() == 0 {
		return ErrDocumentNotFound
	}
	return err
}
