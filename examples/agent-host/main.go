// Command agent-host is a small agent host: a loop that runs tools, and asks three
// controls about each call, over three transports. A rewriter in this process moves
// writes into a folder and answers what it knows; an approver, a program of its own
// over stdin and stdout, asks for an approval or refuses; an auditor over HTTP hears
// what was settled, and what came of it.
//
//	go run ./examples/agent-host -approve yes
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/settle"
	"github.com/holdpoint/holdpoint/transport"
)

func main() {
	approve := flag.String("approve", "no", "what the user answers when an approval is asked for")
	flag.Parse()
	ctx := context.Background()
	var err error
	if flag.Arg(0) == "approver" { // the host starts itself as its control
		err = approver(ctx)
	} else {
		err = run(ctx, os.Stdout, *approve == "yes")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent-host:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, approve bool) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	audit, stop, err := startAuditor(ctx, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()

	h, err := harness.New(registration(self, audit), harness.Options{
		Source:   "urn:example:agent-host",
		Manifest: manifest(),
		Recorder: harness.Discard, // a real host keeps its records
		Local:    map[string]transport.Local{"com.example.rewriter": rewriter()},
		Logger:   slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close(ctx)) }()

	a := agent{h: h, out: out, approve: approve, notes: map[string]string{}}
	for i, call := range []Args{ // what a model would ask for
		{Tool: "write_note", Path: "todo.md", Text: "buy bread"},
		{Tool: "read_note", Path: "safe/todo.md"},
		{Tool: "read_note", Path: "help"},
		{Tool: "delete_note", Path: "safe/todo.md"},
		{Tool: "write_note", Path: "frozen.md", Text: "no"},
	} {
		if err := a.call(ctx, fmt.Sprintf("call-%d", i+1), call); err != nil {
			return err
		}
	}
	return nil
}

// Args is the input of every tool here.
type Args struct {
	Tool string `json:"-"`
	Path string `json:"path"`
	Text string `json:"text,omitzero"`
}

type agent struct {
	h       *harness.Harness
	out     io.Writer
	approve bool
	notes   map[string]string
}

// call is one turn of the loop: ask, maybe get an approval, run or take the supplied
// result, and let controls look at what comes back.
func (a *agent) call(ctx context.Context, id string, args Args) error {
	base := harness.Base{Session: ahp.Session{ID: "example"}}
	before := harness.ToolBefore[Args]{Base: base, Tool: ahp.Tool{CallID: id, Name: args.Tool, Kind: "notes"}, Args: args}
	before, s, err := harness.Settle(ctx, a.h, before)
	if err != nil {
		return err
	}
	for _, text := range s.Messages {
		fmt.Fprintln(a.out, "  note:", settle.Escape(text, settle.MaxLineBytes))
	}
	if s.State == settle.Ask && a.approve {
		// The approval is for this very operation: the tool with its effective input.
		s = s.Approve(s.Operation)
	}
	var after harness.ToolAfter
	if s.Proceeds() {
		result := a.runTool(args.Tool, before.Args)
		after = harness.ToolDone(s.Event, ahp.ToolOK, nil, ahp.TextMessage(harness.NewID(), ahp.RoleTool, result))
	} else if after, err = harness.ResolveTool(s); err != nil {
		return err
	}
	after, s, err = harness.Settle(ctx, a.h, after)
	if err != nil {
		return err
	}
	if !s.Proceeds() {
		fmt.Fprintln(a.out, args.Tool, "- the result is withheld")
		return nil
	}
	fmt.Fprintf(a.out, "%s %s: %s", args.Tool, before.Args.Path, after.Outcome)
	for _, m := range after.Messages {
		fmt.Fprintf(a.out, " %q", *m.Parts[0].Text)
	}
	fmt.Fprintln(a.out)
	return nil
}

func (a *agent) runTool(name string, in Args) string {
	switch name {
	case "write_note":
		a.notes[in.Path] = in.Text
		return "written"
	case "delete_note":
		delete(a.notes, in.Path)
		return "deleted"
	}
	return a.notes[in.Path]
}

// manifest says what this host covers, and what it can enforce.
func manifest() *ahp.Manifest {
	return &ahp.Manifest{
		Events: []ahp.ManifestEvent{
			{Event: ahp.ToolBefore, Modes: []ahp.Mode{ahp.ModeIntercept, ahp.ModeObserve}, Capabilities: &ahp.Capabilities{
				Effects: []ahp.EffectType{ahp.EffectDeny, ahp.EffectAsk, ahp.EffectModify, ahp.EffectReturn, ahp.EffectMessage},
				Modify:  []ahp.ModifyCapability{{Target: ahp.TargetInput, Replace: true, Merge: true}},
			}},
			{Event: ahp.ToolAfter, Modes: []ahp.Mode{ahp.ModeObserve}},
		},
		Gaps:       []ahp.Gap{{Path: "limits", Reason: "this is an example"}},
		Transports: []string{"http", "stdio", "in_process"}, ToolPaths: []string{"native"},
		ContentCategories: []string{"text"}, Authentication: []string{},
		ManagedPolicy: ahp.ManagedPolicy{Scopes: []ahp.Scope{}}, Correlation: []string{"call.id"},
	}
}

// registration asks the rewriter before the approver, so that what is approved is what
// runs. A real host reads it from a file, with wiredraft.ParseRegistration, and adds
// only what lives in its own process.
func registration(self, audit string) *ahp.Registration {
	text := ahp.ContentSelection{Default: ahp.SelectOmit, Categories: []ahp.CategorySelection{{Category: "text", Selection: ahp.SelectBody}}}
	intercept := ahp.Subscription{
		Events: []ahp.EventType{ahp.ToolBefore}, Mode: ahp.ModeIntercept,
		Timeout: 10 * time.Second, FailurePolicy: ahp.FailClosed, Content: text,
	}
	return &ahp.Registration{Version: ahp.VersionDraft, Hooks: []ahp.Backend{
		{ID: "com.example.rewriter", Transport: &ahp.LocalTransport{}, Subscriptions: []ahp.Subscription{intercept}},
		{
			ID:            "com.example.approver",
			Transport:     &ahp.StdioTransport{Command: self, Args: []string{"approver"}, Lifecycle: ahp.Persistent},
			Subscriptions: []ahp.Subscription{intercept},
		},
		{ID: "com.example.auditor", Transport: &ahp.HTTPTransport{URL: audit}, Subscriptions: []ahp.Subscription{
			{Events: []ahp.EventType{"tool.*"}, Mode: ahp.ModeObserve, Content: text},
		}},
	}}
}
