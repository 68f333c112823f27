package queue_test

import (
	"strings"
	"testing"
)

// Where a todo can stand: every state, the attempt below, at and above its maximum of 2, the lease or the
// interrupt's time valid, in the instant of its end ("edge") and over, and who holds it. How each is reached
// is in situations.
//
// The first table is what an endpoint's verbs and the background work make of each; the second what its
// human does. A cell is a name from effects. "." is a conflict, "-" an answer without anything to do; both
// write nothing at all.
//
// A standing of asks-... is tested twice, as input-required and as auth-required. What is held by an endpoint
// is tested without a fence and with one; see fences.
const byEndpoint = `
                   claim    next     beat   beat900  done  fail  fail!  fail900 release input auth  resume cancel  reject reap  due  revoke
new                open     open     .      .        .     .     .      .       .       .     .     .      drop    refuse -     -    bury
new-last           open     open     .      .        .     .     .      .       .       .     .     .      drop    refuse -     -    bury
released           open     open     .      .        .     .     .      .       .       .     .     .      drop    refuse -     -    bury
released-last      open     open     .      .        .     .     .      .       .       .     .     .      drop    refuse -     -    bury
retried            open     open     .      .        .     .     .      .       .       .     .     .      drop    refuse -     -    bury
expired            open     open     .      .        .     .     .      .       .       .     .     .      drop    refuse -     -    bury
held               .        -        beat   beat900  done  retry dead   retry9  back    ask   auth  .      stop    .      -     -    kill
held-edge          .        -        beat   beat900  done  retry dead   retry9  back    ask   auth  .      stop    .      -     -    kill
held-lapsed        take     take     beat   beat900  done  retry dead   retry9  back    ask   auth  .      stop    .      reap  -    kill
held-last          .        -        beat   beat900  done  dead  dead   dead    back    ask   auth  .      stop    .      -     -    kill
held-last-lapsed   .        -        beat   beat900  done  dead  dead   dead    back    ask   auth  .      stop    .      lose  -    kill
held-over          .        -        beat   beat900  done  dead  dead   dead    back    ask   auth  .      stop    .      -     -    kill
held-over-lapsed   .        -        beat   beat900  done  dead  dead   dead    back    ask   auth  .      stop    .      lose  -    kill
human              .        -        .      .        .     .     .      .       .       .     .     .      stop    .      -     -    kill
human-edge         .        -        .      .        .     .     .      .       .       .     .     .      stop    .      -     -    kill
human-lapsed       takeH    takeH    .      .        .     .     .      .       .       .     .     .      stop    .      reap  -    kill
human-last         .        -        .      .        .     .     .      .       .       .     .     .      stop    .      -     -    kill
human-last-lapsed  .        -        .      .        .     .     .      .       .       .     .     .      stop    .      lose  -    kill
asks               .        -        note   note900  done  retry dead   retry9  back    .     .     resume stop    .      -     -    kill
asks-lapsed        .        -        note   note900  done  retry dead   retry9  back    .     .     resume stop    .      -     -    kill
asks-edge          .        -        note   note900  done  retry dead   retry9  back    .     .     resume stop    .      -     -    kill
asks-over          .        -        note   note900  done  retry dead   retry9  back    .     .     resume stop    .      reap  -    kill
asks-last          .        -        note   note900  done  dead  dead   dead    back    .     .     resume stop    .      -     -    kill
asks-last-over     .        -        note   note900  done  dead  dead   dead    back    .     .     resume stop    .      lose  -    kill
waits              .        -        .      .        .     .     .      .       .       .     .     .      dropW   .      -     -    buryW
waits-edge         openW    openW    .      .        .     .     .      .       .       .     .     .      dropW   .      -     due  buryW
waits-over         openW    openW    .      .        .     .     .      .       .       .     .     .      dropW   .      -     due  buryW
dead               .        -        .      .        .     .     .      .       .       .     .     .      .       .      -     -    -
dead-early         .        -        .      .        .     .     .      .       .       .     .     .      .       .      -     -    -
dead-reaped        .        -        .      .        .     .     .      .       .       .     .     .      .       .      -     -    -
revoked            .        -        .      .        .     .     .      .       .       .     .     .      .       .      -     -    -
revoked-held       .        -        .      .        .     .     .      .       .       .     .     .      .       .      -     -    -
done               .        -        .      .        .     .     .      .       .       .     .     .      .       .      -     -    -
canceled           .        -        .      .        .     .     .      .       .       .     .     .      -       .      -     -    -
canceled-held      .        -        .      .        .     .     .      .       .       .     .     .      -       .      -     -    -
rejected           .        -        .      .        .     .     .      .       .       .     .     .      .       .      -     -    -
`

const byHuman = `
                   claim    complete fail   fail!  fail900 extend  release retry   cancel
new                Hopen    .        .      .      .       .       .       .       Hdrop
new-last           Hopen    .        .      .      .       .       .       .       Hdrop
released           Hopen    .        .      .      .       .       .       .       Hdrop
released-last      Hopen    .        .      .      .       .       .       .       Hdrop
retried            Hopen    .        .      .      .       .       .       .       Hdrop
expired            .        .        .      .      .       .       .       .       Hdrop
expired-lapsed     .        .        .      .      .       .       .       .       Hstop
expired-waits      .        .        .      .      .       .       .       .       HdropW
expired-dead       .        .        .      .      .       .       .       .       .
held               .        .        .      .      .       .       .       .       Hstop
held-edge          .        .        .      .      .       .       .       .       Hstop
held-lapsed        HtakeA   .        .      .      .       .       .       .       Hstop
held-last          .        .        .      .      .       .       .       .       Hstop
held-last-lapsed   .        .        .      .      .       .       .       .       Hstop
held-over          .        .        .      .      .       .       .       .       Hstop
held-over-lapsed   .        .        .      .      .       .       .       .       Hstop
human              .        Hdone    Hretry Hdead  Hretry9 Hextend Hback   .       Hstop
human-edge         .        Hdone    Hretry Hdead  Hretry9 Hextend Hback   .       Hstop
human-lapsed       Htake    Hdone    Hretry Hdead  Hretry9 Hextend Hback   .       Hstop
human-last         .        Hdone    Hdead  Hdead  Hdead   Hextend Hback   .       Hstop
human-last-lapsed  .        Hdone    Hdead  Hdead  Hdead   Hextend Hback   .       Hstop
asks               .        .        .      .      .       .       .       .       Hstop
asks-lapsed        .        .        .      .      .       .       .       .       Hstop
asks-edge          .        .        .      .      .       .       .       .       Hstop
asks-over          .        .        .      .      .       .       .       .       Hstop
asks-last          .        .        .      .      .       .       .       .       Hstop
asks-last-over     .        .        .      .      .       .       .       .       Hstop
waits              .        .        .      .      .       .       .       HagainW HdropW
waits-edge         HopenW   .        .      .      .       .       .       HagainW HdropW
waits-over         HopenW   .        .      .      .       .       .       HagainW HdropW
dead               .        .        .      .      .       .       .       HagainR .
dead-early         .        .        .      .      .       .       .       HagainR .
dead-reaped        .        .        .      .      .       .       .       Hagain  .
revoked            .        .        .      .      .       .       .       .       .
revoked-held       .        .        .      .      .       .       .       .       .
done               .        .        .      .      .       .       .       .       .
canceled           .        .        .      .      .       .       .       .       .
canceled-held      .        .        .      .      .       .       .       .       .
rejected           .        .        .      .      .       .       .       .       .
`

// effects says what each cell writes, in the words of writing. A suffix tells what was there before: W a
// retry that was scheduled, R a result, A an agent's lease, H a human's.
var effects = map[string]string{
	".": "", "-": "",

	"open":    "to claimed, counted, held by agent until +300s, opened endpoint 300s",
	"openW":   "to claimed, counted, held by agent until +300s, next_retry_at null, opened endpoint 300s",
	"take":    "counted, lease_expires_at +300s, closed lease_expired/requeued, opened endpoint 300s",
	"takeH":   "counted, held by agent until +300s, closed lease_expired/requeued, opened endpoint 300s",
	"beat":    "lease_expires_at +300s, attempt's last_heartbeat_at now, attempt's notes 1, logged note of the attempt by endpoint",
	"beat900": "lease_expires_at +900s, attempt's lease_ttl_seconds 900, attempt's last_heartbeat_at now, attempt's notes 1, logged note of the attempt by endpoint",
	"note":    "attempt's last_heartbeat_at now, attempt's notes 1, logged note of the attempt by endpoint",
	"note900": "attempt's lease_ttl_seconds 900, attempt's last_heartbeat_at now, attempt's notes 1, logged note of the attempt by endpoint",
	"done":    "to done, freed, result sent, closed completed/done, said",
	"retry":   "to failed, freed, next_retry_at backoff, result sent, closed failed/retry_scheduled, said",
	"retry9":  "to failed, freed, next_retry_at +900s, result sent, closed failed/retry_scheduled, said",
	"dead":    "to failed, freed, result sent, closed failed/dead_lettered, said",
	"back":    "to pending, freed, closed released/requeued, said",
	"ask":     "to input-required, interrupted_at now, logged a2a_state input-required of the attempt by endpoint",
	"auth":    "to auth-required, interrupted_at now, logged a2a_state auth-required of the attempt by endpoint",
	"resume":  "to claimed, lease_expires_at +300s, interrupted_at null, logged a2a_state resume of the attempt by endpoint",
	"drop":    "to canceled, logged a2a_state cancel by endpoint",
	"dropW":   "to canceled, next_retry_at null, logged a2a_state cancel by endpoint",
	"stop":    "to canceled, freed, closed canceled/canceled, logged a2a_state cancel of the attempt by endpoint",
	"refuse":  "to rejected, logged a2a_state reject by endpoint",
	"reap":    "to pending, freed, closed reaped/requeued",
	"lose":    "to failed, freed, closed reaped/dead_lettered",
	"due":     "to pending, next_retry_at null",
	"bury":    "to failed",
	"buryW":   "next_retry_at null",
	"kill":    "to failed, freed, closed revoked/dead_lettered",

	"Hopen":   "to claimed, counted, held by human until +300s, opened owner 300s, logged human_action claim of the attempt by human",
	"HopenW":  "to claimed, counted, held by human until +300s, next_retry_at null, opened owner 300s, logged human_action claim of the attempt by human",
	"HtakeA":  "counted, held by human until +300s, closed lease_expired/requeued, opened owner 300s, logged human_action claim of the attempt by human",
	"Htake":   "counted, lease_expires_at +300s, closed lease_expired/requeued, opened owner 300s, logged human_action claim of the attempt by human",
	"Hdone":   "to done, freed, result sent, closed completed/done, said, logged human_action complete of the attempt by human",
	"Hretry":  "to failed, freed, next_retry_at backoff, result sent, closed failed/retry_scheduled, said, logged human_action fail of the attempt by human",
	"Hretry9": "to failed, freed, next_retry_at +900s, result sent, closed failed/retry_scheduled, said, logged human_action fail of the attempt by human",
	"Hdead":   "to failed, freed, result sent, closed failed/dead_lettered, said, logged human_action fail of the attempt by human",
	"Hextend": "lease_expires_at +300s, logged human_action extend of the attempt by human",
	"Hback":   "to pending, freed, closed released/requeued, said, logged human_action release of the attempt by human",
	"Hagain":  "to pending, attempt 0, logged human_action retry by human, logged retried by human",
	"HagainR": "to pending, attempt 0, result null, logged human_action retry by human, logged retried by human",
	"HagainW": "to pending, attempt 0, next_retry_at null, result null, logged human_action retry by human, logged retried by human",
	"Hdrop":   "to canceled, logged human_action cancel by human",
	"HdropW":  "to canceled, next_retry_at null, logged human_action cancel by human",
	"Hstop":   "to canceled, freed, closed canceled/canceled, logged human_action cancel of the attempt by human",
}

// fences says which token reaches an attempt that an endpoint holds. Where one does not, every verb that a
// fence guards is a conflict.
var fences = []struct {
	fenced  bool
	token   string
	reaches bool
}{
	{false, "none", true}, {false, "wrong", false}, {false, "empty", false},
	{true, "right", true}, {true, "none", false}, {true, "wrong", false}, {true, "empty", false},
}

// guarded are the verbs that ask for the fence.
var guarded = []string{"beat", "beat900", "done", "fail", "fail!", "fail900", "release", "input", "auth"}

// parseTable reads a table into situation, action, cell.
func parseTable(t *testing.T, text string) (order []string, cells map[string]map[string]string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	actions := strings.Fields(lines[0])
	cells = map[string]map[string]string{}
	for _, line := range lines[1:] {
		fields := strings.Fields(line)
		if len(fields) != len(actions)+1 || cells[fields[0]] != nil {
			t.Fatalf("not a line of the table: %s", line)
		}
		order = append(order, fields[0])
		cells[fields[0]] = map[string]string{}
		for i, action := range actions {
			if _, known := effects[fields[i+1]]; !known {
				t.Fatalf("%s is no effect: %s", fields[i+1], line)
			}
			cells[fields[0]][action] = fields[i+1]
		}
	}
	return order, cells
}
