package live

import "context"

// frame is what one page is sent, made once for all streams that wait for the same.
type frame struct {
	made chan struct{} // closed when html and err are there
	html string
	err  error
}

// Frame returns what make makes for a key, once for all streams of the topic that ask for the same key until the next
// poll: whoever follows a topic is told of a version at one time, and shows the same before and after. The key must
// name everything that the frame depends on, the version included, but the topic; nothing of one session may be in it.
// A frame that failed is not kept, but those who waited for it get its error.
func (s *Stream) Frame(ctx context.Context, key string, make func() (string, error)) (string, error) {
	f, first := s.hub.frame(s.topic, key)
	if !first {
		select {
		case <-f.made:
			return f.html, f.err
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	defer close(f.made)
	f.err = ErrClosed // unless make returns
	f.html, f.err = make()
	if f.err != nil {
		s.hub.forget(s.topic, key)
	}
	return f.html, f.err
}

// frame finds the frame of a key, or begins it. A topic that nobody follows any more keeps none.
func (h *Hub) frame(topic Topic, key string) (f *frame, first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	followed := h.topics[topic]
	if followed != nil {
		if f := followed.frames[key]; f != nil {
			return f, false
		}
	}
	f = &frame{made: make(chan struct{})}
	if followed != nil {
		followed.frames[key] = f
	}
	return f, true
}

func (h *Hub) forget(topic Topic, key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if followed := h.topics[topic]; followed != nil {
		delete(followed.frames, key)
	}
}
