package e2e

import (
	"net/http"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// decisions.md 5, for spans that no receiver of ours looks at: the batch is refused whole, and never sent again.
func TestStockReceiver_RefusesARequestOfTooManySpans(t *testing.T) {
	t.Parallel()
	e := newExternal(t)
	addr, httpAddr := freeAddress(t), freeAddress(t)
	c := start(t, withConfig(here(t, "stock.yaml")), withEnv("STOCK_ADDR="+addr, "STOCK_HTTP_ADDR="+httpAddr, "SWITCHBOARD_DATABASE_URL="+e.url))
	v := e.vend(c, c)
	id := e.push(v, "bind me")
	named := func(n int) ptrace.Traces {
		traces := manySpans(n)
		traces.ResourceSpans().At(0).Resource().Attributes().PutStr("switchboard.todo.id", id)
		return traces
	}

	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+v.Token)
	_, err = ptraceotlp.NewGRPCClient(conn).Export(ctx, ptraceotlp.NewExportRequestFromTraces(named(1001)))
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("over gRPC: %v", err)
	}
	over := func(n int) reply {
		return request(t, http.MethodPost, "http://"+httpAddr+"/v1/traces", protobuf(t, named(n)),
			"Authorization", "Bearer "+v.Token, "Content-Type", "application/x-protobuf")
	}
	if res := over(1001); res.status != http.StatusBadRequest {
		t.Errorf("over HTTP: %d %s", res.status, res.body)
	}
	if n := e.spans(id); n != 0 {
		t.Errorf("%d spans of refused requests are stored", n)
	}
	if res := over(1000); res.status != http.StatusOK || e.spans(id) != 1000 {
		t.Errorf("a thousand: %d %s, %d spans are stored", res.status, res.body, e.spans(id))
	}
}
