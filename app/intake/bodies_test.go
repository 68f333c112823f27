package intake

import (
	"testing"

	"github.com/google/uuid"
)

// Who holds its share is refused more, and takes nothing from anybody else; what is released is free again.
func TestBodies_OfOneWebhookLeaveRoomForOthers(t *testing.T) {
	const limit = 5 << 20
	var b bodies
	slow := uuid.New()
	held := int64(0)
	for b.hold(slow, limit, limit) {
		held += limit
	}
	if held == 0 || held > bodiesOfOne {
		t.Errorf("one webhook holds %d bytes", held)
	}
	others := 0
	for b.hold(uuid.New(), limit, limit) {
		others++
	}
	if others == 0 || b.total > bodiesAtOnce {
		t.Errorf("%d others, %d bytes in all", others, b.total)
	}
	b.release(slow, held)
	if !b.hold(slow, limit, limit) {
		t.Error("what was released is not free")
	}
	var alone bodies
	if !alone.hold(slow, 4*bodiesAtOnce, 4*bodiesAtOnce) {
		t.Error("one body within a raised limit cannot be held")
	}
	alone.release(slow, 4*bodiesAtOnce)
	if len(alone.of) != 0 || alone.total != 0 {
		t.Errorf("%d bytes are still held", alone.total)
	}
}
