package main

// What todos and jobs carry. Switchboard stores a payload as it came. River indexes every key and value of its
// arguments, so its cost grows with them: what is compared is told for both.
const (
	// issuePayload is an issue as a forge reports it, shortened: what an agent needs to begin.
	issuePayload = `{"action":"opened","issue":{"id":2894120377,"number":4711,"title":"Retry on 502 from the payment gateway","state":"open","user":{"login":"mara-k","type":"User"},"labels":["bug","p2","payments"],"comments":3,"created_at":"2026-11-28T09:14:02Z","body":"Since the gateway was moved, about one in two hundred checkouts answers 502 on the first try and succeeds on the second. We should retry idempotent calls once after 200 ms, count retries in a metric and log the gateway's request id. Please add a test that fails without the retry. The client is in internal/payments/client.go; the timeout there is 3 s and must stay what it is for the sum of both tries."},"repository":{"id":71823341,"full_name":"example/shop","default_branch":"main","private":true,"clone_url":"https://git.example.com/example/shop.git"},"sender":{"login":"mara-k"},"installation":{"id":50213377}}`

	// shortPayload only says where to look.
	shortPayload = `{"repository":"example/shop","issue":4711,"labels":["bug","p2"]}`
)
