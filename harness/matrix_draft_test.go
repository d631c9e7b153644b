package harness_test

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/internal/badbackend/badtest"
	"github.com/holdpoint/holdpoint/settle"
	"github.com/holdpoint/holdpoint/transport"
)

// refusing marks faults of revision 0.1 that are an explicit denial in draft.
const refusing ahp.FailureClass = "an explicit denial"

// draftMatrix is the matrix of revision 0.1 with what draft has otherwise, and with
// its own faults.
func draftMatrix() []row {
	all := func(fault string, c ahp.FailureClass) row {
		return row{fault: fault, http: c, persistent: c, oneShot: c}
	}
	rows := slices.Clone(matrix)
	for i := range rows {
		r := &rows[i]
		switch r.fault {
		case "wrongid": // a stray answer on a persistent process, and no other comes (D-AMB-18)
			r.persistent, r.timeout = deadline, 2*time.Second
		case "status401":
			r.http = ahp.FailAuth // D-FC-4
		case "twodenies":
			*r = all(r.fault, refusing) // D-EFF-8
		case "allow":
			*r = all(r.fault, good)
		}
	}
	return append(rows,
		all("effectfield", effect), all("unadvertised", effect), all("badvalue", effect), all("denyunknown", effect),
		all("goodthenbad", effect), all("badcontinue", effect), all("@nobody", ahp.FailContent),
		row{fault: "stray", http: void, persistent: good, oneShot: malformed})
}

// draftVoid lists the classes that no fault can cause on a carrier, with the reason.
func draftVoid(carrier string) map[ahp.FailureClass]string {
	v := maps.Clone(voidClasses[carrier])
	delete(v, ahp.FailContent)
	if carrier == "http" {
		delete(v, ahp.FailAuth)
	}
	return v
}

func TestDraftMatrixIsComplete(t *testing.T) {
	rows := draftMatrix()
	for _, f := range badtest.Faults(t) {
		if !slices.ContainsFunc(rows, func(r row) bool { return r.fault == f }) && elsewhere[f] == "" {
			t.Errorf("fault %s is in no row", f)
		}
	}
	for _, carrier := range carriers {
		for _, class := range ahp.FailureClasses() {
			has := slices.ContainsFunc(rows, func(r row) bool { return r.class(carrier) == class })
			if has == (draftVoid(carrier)[class] != "") {
				t.Errorf("%s/%s: in a row: %v, void: %v", carrier, class, has, !has)
			}
		}
	}
}

// Every fault, on every carrier, under both policies (D-FAIL-1): what a backend does
// wrong leads to its class, the policy is applied once, nothing of a bad answer shows
// anywhere, and nothing is left.
func TestDraftFaultMatrix(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "docs", "schemas", "settlement-record.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	exe := badtest.Path(t)
	cells := 0
	t.Run("cells", func(t *testing.T) {
		for _, r := range draftMatrix() {
			for _, carrier := range carriers {
				if r.class(carrier) == void {
					continue
				}
				for _, policy := range []ahp.FailurePolicy{ahp.FailOpen, ahp.FailClosed} {
					cells++
					t.Run(r.fault+"/"+carrier+"/"+string(policy), func(t *testing.T) {
						t.Parallel()
						runDraftCell(t, r, carrier, policy, schema)
					})
				}
			}
		}
	})
	if cells < 280 {
		t.Errorf("%d cells ran, want at least 280", cells)
	}
	if left := remaining(t, exe); len(left) > 0 {
		t.Errorf("processes left: %q", left)
	}
}

func runDraftCell(t *testing.T, r row, carrier string, policy ahp.FailurePolicy, schema *jsonschema.Schema) {
	var opts harness.Options
	timeout := r.bounds(carrier, &opts)
	next, watch := says("[]"), &peer{}
	ev := draftTool()
	s := asks(policy, "*")
	s.Timeout = timeout
	bad := backendOf("net.acme.bad", nil, s)
	r.args = append([]string{"-revision", "draft"}, r.args...)
	r.target(t, carrier, &bad, &opts, ev)
	switch r.fault {
	case "@notoken":
		bad.Auth = &ahp.Bearer{TokenRef: "none"}
	case "@unsayable":
		ev.Tool.Kind, ev.Tool.Input = "", ahp.Raw(`"no object"`)
	case "@nobody":
		ev.Parts = []ahp.Part{{ID: "p", Kind: ahp.PartAttachment, MediaType: "image/png", Selection: ahp.SelectMetadata}}
	}
	h := openDraft(t, func(o *harness.Options) {
		o.Local = map[string]transport.Local{"net.acme.later": next.local, "net.acme.watch": watch.local}
		o.MaxEventBytes = opts.MaxEventBytes
		o.Transport.LookupEnv = opts.Transport.LookupEnv
		o.Transport.Grace = cmp.Or(opts.Transport.Grace, o.Transport.Grace)
		o.Secret = harness.SecretDir(t.TempDir())
	}, bad,
		backendOf("net.acme.later", &ahp.LocalTransport{}, selecting(asks(ahp.FailClosed, "*"), selection(ahp.SelectBody, "images", "omit"))),
		backendOf("net.acme.watch", &ahp.LocalTransport{}, watches("*")))

	got, err := settleOne(t, h, ev)
	class := r.class(carrier)
	rec := h.rec.one(t)
	hop := rec.Hops[0]
	proceed := class == good || policy == ahp.FailOpen && class != ahp.FailEvent && class != refusing
	if r.fault == "@padded" || r.fault == "@unsayable" {
		proceed = false
	}
	if got.Proceeds() != proceed || (rec.Outcome == settle.Proceed) != proceed || (len(next.asked()) > 0) != proceed {
		t.Errorf("settled %s, recorded %s, the next was asked %d times; want proceed %v", got.State, rec.Outcome, len(next.asked()), proceed)
	}
	// The observer is told once, and of a failure; what could not be sent reaches nobody.
	unsayable := r.fault == "@padded" || r.fault == "@unsayable"
	told := 1
	if class != good && class != refusing {
		told++
	}
	if unsayable {
		told--
	}
	if n := len(watch.told()); n != told {
		t.Errorf("the observer was told %d times, want %d", n, told)
	}
	if (err != nil) != unsayable {
		t.Errorf("error %v", err)
	}
	switch class {
	case good:
		if hop.Class != "" || hop.Policy != "" || hop.Answer == settle.AnswerFailure {
			t.Errorf("hop %+v, want a good answer", hop)
		}
	case refusing:
		if hop.Answer != settle.AnswerDeny || rec.Decision != settle.DecisionExplicit {
			t.Errorf("hop %+v, want a denial", hop)
		}
	default:
		wantPolicy, wantAttempts := policy, 1
		switch class {
		case ahp.FailEvent:
			wantPolicy = ""
			if r.fault != "status413" {
				wantAttempts = 0
			}
		case ahp.FailConnection:
			wantAttempts = 2
		case ahp.FailContent:
			wantAttempts = 0
		}
		if hop.Answer != settle.AnswerFailure || hop.Class != class || hop.Policy != wantPolicy || hop.Attempts != wantAttempts || len(hop.Effects) > 0 {
			t.Errorf("hop %+v, want %s by %q after %d attempts", hop, class, wantPolicy, wantAttempts)
		}
		if rec.FailedOpen != proceed {
			t.Errorf("failed open: %v", rec.FailedOpen)
		}
		if !proceed && (rec.Decision != settle.DecisionSynthetic || rec.Class != class || rec.By != "net.acme.bad" || got.Reason != ahp.GenericDenial) {
			t.Errorf("decision %s (%s) by %s: %s", rec.Decision, rec.Class, rec.By, got.Reason)
		}
		if !strings.Contains(h.log.String(), string(class)) {
			t.Errorf("the failure is not in the log: %s", h.log.String())
		}
	}
	line := string(rec.MarshalAppend(nil))
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(v); err != nil {
		t.Error(err)
	}
	closed, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := h.Close(closed); err != nil {
		t.Errorf("close: %v", err)
	}
	texts := map[string]string{"reason": got.Reason, "record": line, "log": h.log.String(), "messages": strings.Join(got.Messages, " ")}
	for _, m := range append(next.all(), watch.all()...) {
		texts["wire"] += m.raw
	}
	for where, text := range texts {
		if strings.Contains(text, "MARKER") {
			t.Errorf("what the backend sent is in the %s: %s", where, text)
		}
	}
}
