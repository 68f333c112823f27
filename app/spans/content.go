package spans

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/jackc/pgx/v5/pgtype"
)

// contentHashes are the hashes of the spans' contents, in the batch's order. What is stored with the same hash has the
// same content. Another one says nothing: the database may know two spellings of attributes as the same.
func (b *todoBatch) contentHashes() pgtype.FlatArray[int64] {
	hashes := make(pgtype.FlatArray[int64], len(b.spans))
	var content []byte
	for i, s := range b.spans {
		content = s.appendContent(content[:0])
		sum := sha256.Sum256(content)
		hashes[i] = int64(binary.BigEndian.Uint64(sum[:]))
	}
	return hashes
}

// appendContent appends what corrects compares, no two contents alike.
func (s *Span) appendContent(b []byte) []byte {
	b = append(b, s.ParentSpanID[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(s.StartAt.UnixMicro()))
	b = binary.BigEndian.AppendUint64(b, uint64(s.EndAt.UnixMicro()))
	for _, text := range [...]string{s.Name, s.Kind, s.StatusCode, s.StatusMessage, s.ServiceName, s.Tool, s.Category} {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	return append(b, s.Attributes...)
}
