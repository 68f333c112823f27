package identity_test

import (
	"testing"
	"time"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
)

func TestEditDefaults_ChangesWhatIsNamedAndNothingElse(t *testing.T) {
	b := setup(t)
	v := b.vend(t, identity.VendParams{Name: "x", DefaultLeaseTTLSeconds: ptr(600), DefaultMaxAttempts: ptr(3)})
	e, err := b.EditDefaults(t.Context(), b.owner.ID, v.Slug, identity.DefaultsEdit{
		LeaseTTLSeconds: identity.Change[int]{Set: true}, RequireFence: ptr(true),
	})
	if err != nil || e.DefaultLeaseTTLSeconds != nil || *e.DefaultMaxAttempts != 3 || !e.RequireFence {
		t.Errorf("%+v, %v", e, err)
	}
	for _, edit := range []identity.DefaultsEdit{
		{LeaseTTLSeconds: identity.Change[int]{Set: true, Value: ptr(59)}}, {MaxAttempts: identity.Change[int]{Set: true, Value: ptr(0)}},
	} {
		if _, err := b.EditDefaults(t.Context(), b.owner.ID, v.Slug, edit); fault.From(err, func(error) *fault.Error { return nil }).Code != fault.Invalid {
			t.Errorf("%+v: %v", edit, err)
		}
	}
	if _, err := b.EditDefaults(t.Context(), v.ID, v.Slug, identity.DefaultsEdit{}); err != fault.ErrEndpointNotFound {
		t.Errorf("another human's edit: %v", err)
	}
}

func TestRotate_EndsTheOldCredentialAtOnceOrAfterTheOverlap(t *testing.T) {
	b := setup(t)
	v := b.vend(t, identity.VendParams{Name: "x"})
	works := func(token string) bool {
		_, err := b.ResolveCredential(t.Context(), token)
		return err == nil
	}
	second, err := b.Rotate(t.Context(), b.owner.ID, v.Slug, time.Hour)
	if err != nil || second.ID != v.ID || !works(v.Token) || !works(second.Token) {
		t.Fatalf("within the overlap both must work: %v", err)
	}
	third, err := b.Rotate(t.Context(), b.owner.ID, v.Slug, 0)
	if err != nil || works(v.Token) || works(second.Token) || !works(third.Token) {
		t.Fatalf("without an overlap only the new one must work: %v", err)
	}
	fourth, err := b.Rotate(t.Context(), b.owner.ID, v.Slug, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	b.Advance(t, 2*time.Hour)
	if works(third.Token) || !works(fourth.Token) {
		t.Error("the overlap did not end")
	}
	if _, err := b.Rotate(t.Context(), b.owner.ID, v.Slug, -time.Second); err == nil {
		t.Error("a negative overlap")
	}
	if _, err := b.Revoke(t.Context(), b.owner.ID, v.Slug); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Rotate(t.Context(), b.owner.ID, v.Slug, 0); err == nil {
		t.Error("a revoked endpoint was rotated")
	}
}
