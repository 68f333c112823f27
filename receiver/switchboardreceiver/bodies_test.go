package switchboardreceiver

import (
	"testing"

	"github.com/google/uuid"
)

// Who holds its share is refused more, and takes nothing from anybody else; what is released is free again.
func TestBodies_OfOneEndpointLeaveRoomForOthers(t *testing.T) {
	const body, limit = 4 << 20, 4 << 20
	b := bodies{of: map[uuid.UUID]int64{}}
	var endpoints []uuid.UUID
	for range bodiesAtOnce / bodiesOfOne {
		endpoint := uuid.New()
		endpoints = append(endpoints, endpoint)
		for range bodiesOfOne / body {
			if !b.hold(endpoint, body, limit) {
				t.Fatal("an endpoint cannot hold its share")
			}
		}
		if b.hold(endpoint, body, limit) {
			t.Fatal("an endpoint holds more than its share")
		}
	}
	if b.hold(uuid.New(), body, limit) {
		t.Error("all together hold more than there is")
	}
	b.release(endpoints[0], body)
	if !b.hold(uuid.New(), body, limit) {
		t.Error("what was released is not free")
	}
	for _, endpoint := range endpoints {
		b.release(endpoint, b.of[endpoint])
	}
	if len(b.of) != 1 || b.total != body {
		t.Errorf("%d bytes of %d endpoints are still held", b.total, len(b.of))
	}
	b = bodies{of: map[uuid.UUID]int64{}}
	if !b.hold(endpoints[0], 64<<20, 64<<20) {
		t.Error("one body within a raised limit cannot be held")
	}
}
