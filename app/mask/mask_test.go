package mask

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const (
	a16 = "Ab1Cd2Ef3Gh4Ij5K"
	a20 = a16 + "l6Mn"
	a36 = a16 + a20
	jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
	pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\nq1Jz+/x==\n-----END RSA PRIVATE KEY-----"
)

// credentials has at least one example of every row of the pattern table.
var credentials = []string{
	// REQ-7's own list
	"sbk_" + a16, "Bearer " + a16, "bearer abc.def-1", "BEARER\t" + a16 + "==", "Bearer%20sbk_" + a36, "Bearer secrettoken",
	"ghp_" + a36, "gho_" + a36, "ghu_" + a36, "ghs_" + a36, "ghr_" + a36, "github_pat_" + a20 + "_" + a36,
	"xoxa-2-" + a16, "xoxb-1234567890-" + a16, "xoxp-1234567890-" + a16,
	"sk-" + a16, "sk-abcdefghijklmnopqrstuvwxyz", "sk-" + a36 + a20, "sk-ant-api03-" + a36, "sk-ant-abcdefghijklmnop",
	"AKIAIOSFODNN7EXAMPLE", "ASIAIOSFODNN7EXAMPLE", "AKIAABCDEFGHIJKLMNOP",

	// Switchboard's other tokens
	"sbl_" + a16, "sbo_" + a16, "sbr_" + a16, "sbp_" + a16, "sbi_" + a16, "sbc_" + a16, "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD/==",

	// What else people leak
	"ghs_123456_" + jwt, "glpat-" + a20,
	"xoxc-" + a16, "xoxd-" + a16, "xoxe-1-" + a16, "xoxr-" + a16, "xoxs-" + a16, "xapp-1-A012-" + a16,
	"sk-proj-" + a36, "sk-or-v1-" + a36, "gsk_" + a36 + a16, "hf_" + a36,
	"AIza" + a36, "ya29.a0Af_" + a16, "GOCSPX-" + a20,
	"sk_live_" + a16, "sk_test_" + a16, "rk_live_" + a16, "rk_test_" + a16,
	"npm_" + a36, "pypi-AgEIcHlwaS5vcmc" + a36,
	jwt, jwt[:strings.LastIndexByte(jwt, '.')],
	pem, "-----BEGIN PRIVATE KEY-----" + `\nMIIEowIBAAKCAQEA\n` + "-----END PRIVATE KEY-----",
	"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA",
	"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQVYBGXk\n-----END PGP PRIVATE KEY BLOCK-----",
}

func TestString_REQ7_ReplacesEveryCredentialInItsPlace(t *testing.T) {
	for _, c := range credentials {
		wants := map[string]string{
			c:                        Redacted,
			"before " + c + " after": "before " + Redacted + " after",
			"(" + c + ")":            "(" + Redacted + ")",
			`{"key":"` + c + `"}`:    `{"key":"` + Redacted + `"}`,
			c + "\n" + c:             Redacted + "\n" + Redacted,
			`line\n` + c + `\nline`:  `line\n` + Redacted + `\nline`,
			"\x1b[1;31m" + c:         "\x1b[1;31m" + Redacted,
			`\u003c` + c + `\u003e`:  `\u003c` + Redacted + `\u003e`,
			"a%20" + c:               "a%20" + Redacted,
		}
		for in, want := range wants {
			if strings.Contains(c, "OPENSSH") && !strings.HasSuffix(in, c) || strings.Count(in, "OPENSSH") > 1 {
				continue // a block without an end reaches to the end of the text
			}
			if got := String(in); got != want {
				t.Errorf("String(%q)\n got %q\nwant %q", in, got, want)
			}
		}
	}
}

func TestString_EveryPatternHasAnExample(t *testing.T) {
	for _, p := range patterns {
		found := false
		for _, c := range append(credentials, "https://user:password@host") {
			tx := text{s: c}
			for i := range c {
				if p.literalAt(c[i:]) {
					_, _, ok := tx.match(p.follows, i, i+len(p.literal))
					found = found || ok
				}
			}
		}
		if !found {
			t.Errorf("no example matches the pattern that begins with %q", p.literal)
		}
	}
}

func TestString_KeepsWhatStandsAroundACredential(t *testing.T) {
	for in, want := range map[string]string{
		"Authorization: Bearer " + a36:                 "Authorization: [REDACTED]",
		"GITHUB_TOKEN=ghp_" + a36 + ".":                "GITHUB_TOKEN=[REDACTED].",
		"tokenghp_" + a36:                              "token[REDACTED]",
		"KEY_sk-" + a36:                                "KEY_[REDACTED]",
		"keysk-ant-api03-" + a36:                       "key[REDACTED]",
		"ghp_" + a36 + "ghp_" + a36:                    "[REDACTED]",
		"AKIAIOSFODNN7EXAMPLE" + "sk-" + a16:           "[REDACTED][REDACTED]",
		"npm_" + a36 + "sbk_" + a36:                    "[REDACTED]",
		"my_key_sbk_" + a16 + "/x":                     "my_key_[REDACTED]/x",
		"sbk_" + a16 + ",ghp_" + a36 + ";xoxb-" + a16:  "[REDACTED],[REDACTED];[REDACTED]",
		"AKIAIOSFODNN7EXAMPLE%2F20261101%2Fus-east-1":  "[REDACTED]%2F20261101%2Fus-east-1",
		"https://user:pass@host/path":                  "https://[REDACTED]@host/path",
		"https://x-access-token:ghs_" + a36 + "@g.com": "https://[REDACTED]@g.com",
		"postgres://app:p@ss:w0rd@db:5432/x?a=b@c":     "postgres://[REDACTED]@db:5432/x?a=b@c",
		"redis://:secret@cache:6379":                   "redis://[REDACTED]@cache:6379",
		"https://" + "ghp_" + a36 + "@github.com/o/r":  "https://[REDACTED]@github.com/o/r",
		"https://h/?key=AIza" + a36 + "&x=1":           "https://h/?key=[REDACTED]&x=1",
		"say bearer sk-ant-" + a36 + " twice":          "say [REDACTED] twice",
		pem + "\n" + pem:                               Redacted + "\n" + Redacted,
	} {
		if got := String(in); got != want {
			t.Errorf("String(%q)\n got %q\nwant %q", in, got, want)
		}
	}
}

func TestString_LeavesOrdinaryTextAlone(t *testing.T) {
	for _, s := range []string{
		"", "s", "sk", "sk-", "sk-short", "sbk_short", "ghp_tooShortToBeOne", "AKIA", "AKIASHORT", "Bearer", "bearer abc",
		// prose and kebab-case
		"task-runner-configuration-file-for-everything", "disk-usage-of-the-last-seven-days",
		"task-9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "ask-ant-colony-optimization-questions",
		"sk-learn-pipeline-with-preprocessing", "the risk-assessment-document-template-v2",
		"ask-me-anything-about-kebab-case-prose-here", "xoxo-hugs-and-kisses-to-all", "pypi-publish-workflow-settings",
		"Bearer authentication failed", "missing bearer credentials.", "a bearer certificate is required",
		"WWW-Authenticate: Bearer realm=\"example\"", "token_type: bearer, expires_in: 3600", "forbearer and overbearing ways",
		"task_test_internationalization", "behalf_of_the_internationalization_team",
		// digests, ids, base64, paths
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
		"01a22b77-09ad-70f2-805d-50818922f46d", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"eyJoZWxsbyI6IndvcmxkIn0=", "aGVsbG8gd29ybGQsIHRoaXMgaXMgYmFzZTY0IHRleHQgb2Ygc29tZSBsZW5ndGg=",
		"td_01h455vb4pex5vsknk084sn02q", "claude-opus-4-5-20251101", "/home/a/src/app/mask/mask_test.go:120",
		"https://host:8080/path@version", "ssh://git@github.com/o/r", "git@github.com:o/r.git", "docker.io/library/alpine:3.19@sha256:9f86",
		"-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIU\n-----END CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----",
		"------------", "://", "a://b", Redacted, "日本語 sk- テキスト",
	} {
		if got := String(s); got != s {
			t.Errorf("String(%q) = %q, want it unchanged", s, got)
		}
	}
}

func TestString_CleanTextCostsNoAllocation(t *testing.T) {
	s := strings.Repeat("a task-runner asks the bearer of news, https://host:80/x and sk-learn. ", 20)
	if n := testing.AllocsPerRun(100, func() { _ = String(s) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// A key block longer than the window is masked to the window's end, and a credential that the window halves
// is masked because the context shows it whole (decisions.md 22).
func TestWindow_MasksACredentialThatItsEndWouldHalve(t *testing.T) {
	s := "0123456789 ghp_" + a36 + " and more"
	for n, want := range map[int]string{
		0: "", 5: "01234", 11: "0123456789 ", 12: "0123456789 " + Redacted, 20: "0123456789 " + Redacted,
		len(s): "0123456789 " + Redacted + " and more", len(s) + 9: "0123456789 " + Redacted + " and more",
	} {
		if got := Window(s, n); got != want {
			t.Errorf("Window(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestString_WorkIsLinear(t *testing.T) {
	literals := []string{" ", "%20", ".", "@", ":", "a", "-", "-----END PRIVATE KEY"}
	for _, p := range patterns {
		literals = append(literals, p.literal)
	}
	for i, a := range literals {
		for _, b := range literals[i:] {
			for _, tail := range []string{"", "-a", "_1", "." + a, "Z", "://"} {
				s := strings.Repeat(a+b+tail, 2000)
				tx := text{s: s}
				tx.mask(len(s))
				if tx.examined > 8*len(s) {
					t.Errorf("%q repeated: %d bytes examined of %d", a+b+tail, tx.examined, len(s))
				}
			}
		}
	}
}

func TestString_AgreesWithTheOracleAndIsIdempotent(t *testing.T) {
	fragments := []string{
		"", " ", "-", "_", ".", "/", ":", "@", "=", "%20", `\n`, `\u001b`, "\x1b[31m", "\n", "[", "]", `"`, "\xff", "é",
		a16, a20, "abc", "abcdefgh", "learn-pipeline", "authentication", "ABCDEFGH12345678", "eyJhbGciOiJI", ".eyJzdWIiOiIx",
		"-----END RSA PRIVATE KEY-----", "RSA PRIVATE KEY-----", "user", Redacted, "BEARER", "://u:p@",
	}
	for _, p := range patterns {
		fragments = append(fragments, p.literal)
	}
	fragments = append(fragments, credentials...)
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom(fragments), 0, 12).Draw(t, "s"), "")
		agree(t, s)
	})
}

func FuzzMask_AgreesWithTheOracle(f *testing.F) {
	for _, c := range credentials {
		f.Add(c)
	}
	f.Add("https://user:pass@host " + `\nsk-` + a16 + "%20Bearer%20" + a36)
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 1<<11 {
			t.Skip("the oracle is slow")
		}
		agree(t, s)
	})
}

func agree(t interface{ Fatalf(string, ...any) }, s string) {
	got := String(s)
	if want := oracle(s); got != want {
		t.Fatalf("String(%q)\n got %q\nwant %q", s, got, want)
	}
	if again := String(got); again != got {
		t.Fatalf("masking %q again gives %q", got, again)
	}
}

func ExampleString() {
	fmt.Println(String(`curl -H "Authorization: Bearer sbk_0123456789abcdefghij" https://me:secret@example.com`))
	// Output: curl -H "Authorization: [REDACTED]" https://[REDACTED]@example.com
}
