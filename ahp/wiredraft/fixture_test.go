package wiredraft_test

import (
	"bytes"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
	"github.com/holdpoint/holdpoint/internal/corpus"
	"github.com/holdpoint/holdpoint/settle"
)

// reasons says for each invalid fixture where the fault is and what was found there.
var reasons = map[string][2]string{
	"stdio.intercept-request-multiline.invalid":       {"", "the end of the text inside a JSON value"},
	"http.intercept-request-effects-missing.invalid":  {"/params/capabilities/effects", "nothing"},
	"http.intercept-request-id-mismatch.invalid":      {"/id", "an id that is not the event's"},
	"http.no-effect-response-version.invalid":         {"/result/protocolVersion", "another version"},
	"http.error-response-result.invalid":              {"/error", "an error beside a result"},
	"http.observe-with-id.invalid":                    {"/method", "a request with another method"},
	"http.observe-unknown-event.invalid":              {"/params/event/type", "another event type"},
	"http.observe-tool-after-error.invalid":           {"/params/event/error", "a member"},
	"http.observe-tool-after-input-missing.invalid":   {"/params/event/tool/input", "nothing"},
	"http.observe-tool-error-message-missing.invalid": {"/params/event/error/message", "nothing"},
	"http.observe-tool-error-output.invalid":          {"/params/event/tool/output", "a member that the object does not have"},
	"http.observe-session-start-tool.invalid":         {"/params/event/tool", "a member"},
	"http.observe-session-end-outcome.invalid":        {"/params/event/outcome", "another string"},
	"http.flow-no-operation.invalid":                  {"/result/effects/1/operation", "nothing"},
	"http.stop-no-reason.invalid":                     {"/result/effects/1/reason", "nothing"},
	"http.inject-wrong-operation.invalid":             {"/result/effects/1/operation", "a string"},
	"http.atomic-unknown.invalid":                     {"/result/effects/1/type", "another effect"},
	"http.content-negative-size.invalid":              {"/params/event/items/0/body/size", "a member that the object does not have"},
	"http.content-bad-hash.invalid":                   {"/params/event/items/0/body/sha256", "a member that the object does not have"},
	"http.content-inline.invalid":                     {"/params/event/items/0/text", "a member"},
	"http.metadata-body.invalid":                      {"/params/event/items/0/body", "a member"},
	"http.parent-empty.invalid":                       {"/params/event/parentEventId", "an empty string"},
	"http.task-id-missing.invalid":                    {"/params/event/task/id", "nothing"},
	"http.synthesized-call-string.invalid":            {"/params/event/call/synthesized", "a string"},
	"http.synthesized-items-string.invalid":           {"/params/event/items/0/parts/0/synthesized", "a string"},
	"http.timestamp-compact.invalid":                  {"/params/event/time", "a string"},
	"http.source-malformed.invalid":                   {"/params/event/source", "a string"},
	"http.hash-newline-body.invalid":                  {"/params/event/items/0/parts/0/body/sha256", "a member that the object does not have"},
	"http.hash-newline-metadata.invalid":              {"/params/event/items/0/parts/0/sha256", "a string"},
	"http.model-item-role-missing.invalid":            {"/params/event/items/0/role", "nothing"},
	"http.model-child-role-missing.invalid":           {"/params/event/items/1/role", "nothing"},
	"http.task-return-capability.invalid":             {"/params/capabilities", "effects/0: return does not exist at task.change.before"},
	"http.tool-before-continue-capability.invalid":    {"/params/capabilities", "flow/operations: continue does not exist at tool.before"},
	"http.model-response-input-target.invalid":        {"/params/capabilities", "modify/input does not exist at model.response.after"},
	"http.mcp-http-location-missing.invalid":          {"/params/event/tool/mcp/connection/url", "nothing"},
	"http.mcp-stdio-location-missing.invalid":         {"/params/event/tool/mcp/connection/command", "nothing"},
	"http.dedicated-json-part.invalid":                {"/params/event/items/0/parts/0/kind", "another string"},
	"http.text-as-ref.invalid":                        {"/params/event/items/0/parts/0/body", "a member"},
	"http.text-wrong-media-type.invalid":              {"/params/event/items/0/parts/0/mediaType", "another media type"},
	"http.text-nonstring.invalid":                     {"/params/event/items/0/parts/0/text", "an object"},
	"http.metadata-text-leak.invalid":                 {"/params/event/items/0/parts/0/text", "a member"},
	"http.omit-text-leak.invalid":                     {"/params/event/items/0/parts/0/text", "a member"},
	"http.gap-text-leak.invalid":                      {"/params/event/items/0/parts/0/text", "a member"},
	"http.attachment-json.invalid":                    {"/params/event/items/0/parts/0/mediaType", "a media type of text or JSON"},
	"http.attachment-json-suffix.invalid":             {"/params/event/items/0/parts/0/mediaType", "a media type of text or JSON"},
	"http.attachment-content-edit.invalid":            {"/params/event/items/0/parts/0/text", "a member"},
	"http.text-part-role.invalid":                     {"/params/event/items/0/parts/0/role", "a member that the object does not have"},
	"http.text-part-parent.invalid":                   {"/params/event/items/0/parts/0/parentItemId", "a member that the object does not have"},
	"http.message-wrong-role.invalid":                 {"/params/event/items/0/role", "another string"},
	"http.message-role-wrong-type.invalid":            {"/params/event/items/0/role", "a number"},
	"http.user-message-inbound-wrong-role.invalid":    {"/params/event/message/messages/0/role", "another role"},
	"http.user-message-outbound-wrong-role.invalid":   {"/params/event/message/messages/0/role", "another role"},
	"http.modify-invalid-target.invalid":              {"/result/effects/0/target", "a string"},
	"http.modify-invalid-path.invalid":                {"/result/effects/0/path", "a member that the object does not have"},
	"http.modify-prompt-wrong-type.invalid":           {"/result/effects/0/value", "an object"},
	"http.modify-instructions-message.invalid":        {"/result/effects/0/value/0/role", "a member that the object does not have"},
	"http.modify-attachment-bytes.invalid":            {"/result/effects/0/value/0/parts/0/body/text", "a member that the object does not have"},
	"http.contextual-tool-output-object.invalid":      {"/result/effects/0/value", "an object"},
	"http.contextual-tool-output-parts.invalid":       {"/result/effects/0/value/0/kind", "a member that the object does not have"},
	"http.contextual-tool-output-primitive.invalid":   {"/result/effects/0/value", "a string"},

	"registration.intercept-observation-event.invalid": {"/hooks/0/subscriptions/0/events/0", `"turn.end"`},
	"registration.empty-hooks.invalid":                 {"/hooks", "an empty array"},
	"registration.literal-token.invalid":               {"/hooks/0/authentication/token", "a literal credential"},
	"registration.observe-policy-fields.invalid":       {"/hooks/0/subscriptions/0/timeoutMs", "a number"},
	"registration.intercept-content-missing.invalid":   {"/hooks/0/subscriptions/0/content", "nothing"},
	"registration.observe-content-missing.invalid":     {"/hooks/1/subscriptions/1/content", "nothing"},
	"registration.content-default-missing.invalid":     {"/hooks/0/subscriptions/0/content/default", "nothing"},
}

// contextual says the same for fixtures that only their request makes invalid.
var contextual = map[string][2]string{
	"http.contextual-elicitation-content-list.invalid":    {"/result/effects/0/value", "an array"},
	"http.contextual-outbound-content-object.invalid":     {"/result/effects/0/value", "an object"},
	"http.contextual-elicitation-content-nested.invalid":  {"/result/effects/0/value/nested", "an object"},
	"http.contextual-elicitation-content-url.invalid":     {"/result/effects/0", "a change of a result that is no accepted form"},
	"http.contextual-elicitation-content-decline.invalid": {"/result/effects/0", "a change of a result that is no accepted form"},
}

func wantProblem(t *testing.T, probs []wiredraft.Problem, want [2]string) {
	t.Helper()
	for _, p := range probs {
		if p.Pointer == want[0] && p.Found == want[1] && p.Line > 0 && p.Column > 0 {
			return
		}
	}
	t.Errorf("problems %v, want %q at %q", probs, want[1], want[0])
}

// TestFixtures holds every public fixture against the codec: valid ones are accepted,
// invalid ones refused for their own reason.
func TestFixtures(t *testing.T) {
	used := 0
	for _, c := range corpus.DraftFixtures(t) {
		t.Run(c.ID, func(t *testing.T) {
			data := c.Data(t)
			var err error
			if c.Registration() {
				_, _, err = wiredraft.ParseRegistration(c.Path, data, wiredraft.RegOptions{})
			} else {
				frame := data
				if c.Binding == "stdio-jsonl" {
					frame, _, _ = bytes.Cut(data, []byte("\n"))
				}
				_, err = wiredraft.Decode(frame, wiredraft.Limits{})
			}
			if (err == nil) != c.Valid() {
				t.Errorf("decoding says %v, want valid=%v", err, c.Valid())
			}
			probs, kind := wiredraft.Lint(c.Path, data, "", wiredraft.LintOptions{})
			want := wiredraft.KindMessage
			if c.Registration() {
				want = wiredraft.KindRegistration
			}
			if kind != want {
				t.Errorf("guessed %s, want %s", kind, want)
			}
			if c.Valid() {
				if len(probs) > 0 {
					t.Errorf("lint says %v", probs)
				}
				return
			}
			reason, ok := reasons[c.ID]
			if !ok {
				t.Fatalf("no reason is listed; lint says %v", probs)
			}
			used++
			wantProblem(t, probs, reason)
		})
	}
	if used != len(reasons) {
		t.Errorf("%d reasons were used of %d", used, len(reasons))
	}
}

// TestUnlistedFixtures judges the two files that the manifest does not list: types of
// authentication that are not portable (AHP-AUTH-001, D-AMB-4).
func TestUnlistedFixtures(t *testing.T) {
	for _, name := range []string{"mtls", "workload"} {
		data := corpus.File(t, "ahp-draft/fixtures/registration/"+name+".invalid.json")
		probs, _ := wiredraft.Lint(name, data, "", wiredraft.LintOptions{})
		wantProblem(t, probs, [2]string{"/hooks/0/authentication/type", `"` + name + `"`})
	}
}

// TestContextualFixtures judges responses beside the request that they answer.
func TestContextualFixtures(t *testing.T) {
	n := 0
	for _, c := range corpus.DraftFixtures(t) {
		if c.ContextualExpectedValid == nil {
			continue
		}
		n++
		t.Run(c.ID, func(t *testing.T) {
			request := c.Request(t)
			req, bad := wiredraft.DecodeRequest(request, wiredraft.Limits{})
			if bad != nil {
				t.Fatalf("the request: %v\n%s", bad, request)
			}
			data := c.Data(t)
			eff, f := wiredraft.DecodeResponse(data, "edit-1", req.Event.Type, &req.Capabilities, wiredraft.Limits{})
			if f == nil {
				f = settle.Check(req.Event, &req.Capabilities, eff, settle.BoundaryOptions{})
			}
			if (f == nil) != *c.ContextualExpectedValid {
				t.Errorf("got %v, want valid=%v", f, *c.ContextualExpectedValid)
			}
			if f != nil && f.Class != ahp.FailInvalidEffect {
				t.Errorf("class %s", f.Class)
			}
			probs, _ := wiredraft.Lint(c.Path, data, "", wiredraft.LintOptions{Request: request})
			if *c.ContextualExpectedValid {
				if len(probs) > 0 {
					t.Errorf("lint says %v", probs)
				}
				return
			}
			reason, ok := contextual[c.ID]
			if !ok {
				if reason, ok = reasons[c.ID]; !ok {
					t.Fatalf("no reason is listed; lint says %v", probs)
				}
			}
			wantProblem(t, probs, reason)
		})
	}
	if n != 12 {
		t.Errorf("%d contextual fixtures, want 12", n)
	}
}
