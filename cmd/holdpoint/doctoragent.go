package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/gateway"
	"github.com/holdpoint/holdpoint/hookwire"
)

// clientName is the hook client's program.
const clientName = "holdpoint-hook"

// defaultClientTimeout is the client's own bound at an event that can be refused.
const defaultClientTimeout = 4 * time.Second

// checkClient looks for the hook client where a shell would find it.
func (d *doctor) checkClient(ctx context.Context) {
	path, err := exec.LookPath(clientName)
	if err != nil {
		d.add(checkWarn, "client", "", clientName+" is not on PATH", "install it, or name its whole path in the hooks")
		return
	}
	if path, err = filepath.Abs(path); err != nil {
		d.add(checkWarn, "client", "", err.Error(), "")
		return
	}
	if d.checkBinary(ctx, "client", "", path) {
		d.clientBin = path
	}
}

// checkBinary looks at one hook client, and asks it for its version.
func (d *doctor) checkBinary(ctx context.Context, name, agent, path string) bool {
	fi, err := os.Stat(path)
	switch {
	case err != nil:
		d.add(checkFail, name, agent, path+": "+withoutName(err).Error(), "the guard refuses every operation, and an unguarded hook none: install the client there")
		return false
	case !fi.Mode().IsRegular():
		d.add(checkFail, name, agent, path+" is no program", "install the client there")
		return false
	case fi.Mode().Perm()&0o022 != 0:
		d.add(checkFail, name, agent, fmt.Sprintf("%s can be changed by others (mode %04o)", path, fi.Mode().Perm()), "chmod go-w "+path)
		return false
	}
	if uid := ownerOf(fi); uid > 0 && uid != d.uid {
		d.add(checkFail, name, agent, fmt.Sprintf("%s belongs to user %d, who can change it", path, uid), "it should be root's or yours")
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = probeTimeout
	out := &head{left: 256}
	cmd.Stdout = out
	if err := cmd.Run(); err != nil {
		d.add(checkFail, name, agent, path+" does not say its version: "+withoutName(err).Error(), "install the client again")
		return false
	}
	program, v, ok := strings.Cut(strings.TrimSpace(out.String()), " ")
	if !ok || program != clientName {
		d.add(checkFail, name, agent, path+" is no "+clientName, "install the client there")
		return false
	}
	switch own := version(); v {
	case own:
		d.add(checkOK, name, agent, path+", version "+v, "")
	case "dev":
		d.add(checkOK, name, agent, path+", version dev: a build without a release's number, which cannot be compared", "")
	default:
		d.add(checkWarn, name, agent, fmt.Sprintf("%s has version %s, this program %s: neighbouring releases understand each other", path, v, own), "install both from one release")
	}
	return true
}

// A head keeps the beginning of what is written.
type head struct {
	bytes.Buffer
	left int
}

func (h *head) Write(b []byte) (int, error) {
	n := min(len(b), h.left)
	h.left -= n
	h.Buffer.Write(b[:n])
	return len(b), nil
}

// checkAgent looks at an agent's settings, and runs the client as it would.
func (d *doctor) checkAgent(ctx context.Context, agent, policy string) {
	var decides []install
	for _, f := range agentFiles(agent, gateway.UserHome(), d.cwd, os.Getenv) {
		s, err := f.read()
		if notThere(err) {
			continue
		}
		if err != nil {
			d.add(checkFail, "settings", agent, f.path+": "+err.Error(), "the agent may run without any hook until this is repaired")
			continue
		}
		d.checkSwitches(agent, &f, s)
		list, err := f.installs(s)
		if err != nil {
			d.add(checkWarn, "settings", agent, f.path+": "+err.Error(), "")
		}
		if len(list) == 0 {
			d.add(checkOK, "settings", agent, fmt.Sprintf("%s (%s) does not name %s", f.path, f.scope, clientName), "")
		}
		for i := range list {
			if d.checkInstall(agent, &list[i]) {
				decides = append(decides, list[i])
			}
		}
	}
	if len(decides) == 0 {
		status := checkWarn
		if d.named {
			status = checkFail
		}
		d.add(status, "installed", agent, "no hook at PreToolUse: nothing is decided", "docs/agents/"+agent+".md has the configuration to paste")
		d.checkBehaviour(ctx, agent, &install{args: []string{"--failure-policy", policy}}, d.clientBin)
		return
	}
	in := &decides[0]
	bin := d.clientBin
	// What a project names comes with the repository: it is never started here.
	if in.file.scope != scopeProject && filepath.IsAbs(in.client) {
		bin = ""
		if d.checkBinary(ctx, "program", agent, in.client) {
			bin = in.client
		}
	}
	d.checkBehaviour(ctx, agent, in, bin)
}

// checkSwitches looks for settings that turn hooks off.
func (d *doctor) checkSwitches(agent string, f *agentFile, s *agentSettings) {
	if agent == hookwire.AgentClaudeCode && s.DisableAllHooks {
		d.add(checkFail, "switch", agent, fmt.Sprintf("%s (%s) says disableAllHooks: only managed hooks run", f.path, f.scope), "remove it, or install the hook in the managed settings")
	}
	off := func(b *bool) bool { return b != nil && !*b }
	if agent == hookwire.AgentCodex && (off(s.Features.Hooks) || off(s.Features.CodexHooks)) {
		d.add(checkFail, "switch", agent, fmt.Sprintf("%s (%s) turns the feature hooks off", f.path, f.scope), "remove it, and pin the feature in /etc/codex/requirements.toml")
	}
}

// checkInstall judges one place where the client is started, and reports whether
// it decides about tool calls.
func (d *doctor) checkInstall(agent string, in *install) bool {
	where := fmt.Sprintf("%s (%s): %s", in.file.path, in.file.scope, in.event)
	var bad, odd []string
	named, event := in.words()
	decides := in.event == "PreToolUse"
	policy := in.option("--failure-policy")
	timeout := clientTimeout(in)
	// What the agent does by itself when its own time is up: the tool runs.
	own := cmp.Or(in.timeout, map[string]time.Duration{hookwire.AgentCodex: 600 * time.Second}[agent], 60*time.Second)
	switch {
	case in.args == nil:
		bad = append(bad, "its command line is not plain text, so it cannot be judged")
	case named != agent:
		bad = append(bad, fmt.Sprintf("its command line says agent %q", named))
	case event != "" && event != in.event:
		bad = append(bad, fmt.Sprintf("its command line says event %q", event))
	case policy != string(ahp.FailOpen) && policy != string(ahp.FailClosed):
		bad = append(bad, "its --failure-policy is neither fail-open nor fail-closed")
	}
	if in.args != nil && timeout >= own {
		bad = append(bad, fmt.Sprintf("the agent gives up after %s, before the client's own %s: the tool runs then", own, timeout))
	}
	if in.skipped != "" {
		bad = append(bad, in.skipped)
	}
	if socket := in.option("--socket"); in.args != nil && cmp.Or(socket, defaultSocket()) != d.socket {
		odd = append(odd, fmt.Sprintf("it asks another socket, %s", cmp.Or(socket, "the default one")))
	}
	if decides {
		if !in.guarded {
			bad = append(bad, "it is not guarded: when the client is missing or cannot start, the tool runs")
		}
		if in.matcher != "" && in.matcher != "*" && in.matcher != ".*" {
			odd = append(odd, fmt.Sprintf("its matcher %q keeps other tools from it", in.matcher))
		}
		if in.file.scope == scopeProject {
			odd = append(odd, "a project's settings can be changed by whoever writes to the project")
		}
	} else if in.guarded && !refusable(agent, in.event) {
		bad = append(bad, "it is guarded, and a refusal there keeps the agent running without an end")
	}
	hint := "docs/agents/" + agent + ".md has the configuration to paste"
	switch {
	case bad != nil:
		d.add(checkFail, "installed", agent, where+": "+strings.Join(append(bad, odd...), "; "), hint)
	case odd != nil:
		d.add(checkWarn, "installed", agent, where+": "+strings.Join(odd, "; "), hint)
	case decides:
		d.add(checkOK, "installed", agent, fmt.Sprintf("%s, guarded, every tool, %s, %s of the agent's %s", where, policy, timeout, own), "")
	default:
		d.add(checkOK, "installed", agent, where, "")
	}
	if decides && agent == hookwire.AgentCodex && in.file.scope != scopeManaged {
		d.add(checkWarn, "trust", agent, "whether Codex trusts this hook cannot be seen, and an untrusted or changed one is skipped without a word",
			"let the agent run a command and look for it in holdpoint audit tail")
	}
	return decides
}

func defaultSocket() string {
	path, err := hookwire.DefaultSocket()
	if err != nil {
		return ""
	}
	return path
}

func clientTimeout(in *install) time.Duration {
	if t, err := time.ParseDuration(in.option("--timeout")); err == nil {
		return t
	}
	return defaultClientTimeout
}

// checkBehaviour says what the agent does while the gateway is up, down and hung,
// by running the client with the installed options.
func (d *doctor) checkBehaviour(ctx context.Context, agent string, in *install, bin string) {
	if bin == "" {
		d.add(checkWarn, "behaviour", agent, "not tried: there is no hook client to run", "install "+clientName)
		return
	}
	policy := cmp.Or(in.option("--failure-policy"), string(ahp.FailClosed))
	fallback := in.option("--fallback-exec")
	if in.file.scope == scopeProject {
		fallback = "" // named by the project
	}
	if d.listening {
		// Under fail-closed, silence is a refusal: what goes on was answered.
		d.run(ctx, agent, "up", bin, d.socket, string(ahp.FailClosed), "", clientTimeout(in), in.event != "")
	} else {
		d.add(checkWarn, "up", agent, "not tried: no gateway listens", "")
	}
	dir, err := os.MkdirTemp("", "holdpoint-doctor-")
	if err != nil {
		d.add(checkWarn, "down", agent, "not tried: "+withoutName(err).Error(), "")
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if dir, err = filepath.EvalSymlinks(dir); err == nil {
		err = hookwire.CheckDir(filepath.Join(dir, hookwire.SocketName), d.uid)
	}
	if err != nil {
		d.add(checkWarn, "down", agent, "not tried: the folder for temporary files is not safe", "set TMPDIR to a folder of yours")
		return
	}
	// Half a second shows the same as the whole time.
	const patience = 500 * time.Millisecond
	socket := filepath.Join(dir, hookwire.SocketName)
	d.run(ctx, agent, "down", bin, socket, policy, fallback, patience, in.event != "")

	ln, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		d.add(checkWarn, "hung", agent, "not tried: no socket could be made in the folder for temporary files", "")
		return
	}
	defer ln.Close()
	if err := os.Chmod(socket, 0o600); err != nil {
		d.add(checkWarn, "hung", agent, "not tried: "+withoutName(err).Error(), "")
		return
	}
	d.run(ctx, agent, "hung", bin, socket, policy, fallback, patience, in.event != "")
}

// run starts the client once with a harmless tool call and says what the agent
// makes of its answer.
func (d *doctor) run(ctx context.Context, agent, state, bin, socket, policy, fallback string, timeout time.Duration, installed bool) {
	ctx, cancel := context.WithTimeout(ctx, timeout+probeTimeout)
	defer cancel()
	args := []string{"--failure-policy", policy, "--socket", socket, "--timeout", timeout.String()}
	if fallback != "" {
		args = append(args, "--fallback-exec", fallback)
	}
	cmd := exec.CommandContext(ctx, bin, append(args, agent, "PreToolUse")...)
	cmd.WaitDelay = probeTimeout
	cmd.Dir = d.cwd
	cmd.Stdin = strings.NewReader(`{"session_id":"holdpoint-doctor","turn_id":"t","transcript_path":null,"cwd":` + quoteJSON(d.cwd) +
		`,"hook_event_name":"PreToolUse","model":"none","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"true"},"tool_use_id":"holdpoint-doctor"}`)
	stdout, stderr := &head{left: 64 << 10}, &head{left: 64 << 10}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		d.add(checkFail, state, agent, "the client did not end in time, or could not be run", "")
		return
	}
	refused, clear := refusalOf(stdout.Bytes(), cmd.ProcessState.ExitCode())
	if !clear {
		d.add(checkFail, state, agent, fmt.Sprintf("the client ended with code %d, which means nothing to the agent", cmd.ProcessState.ExitCode()), "install the client again")
		return
	}
	how := "under " + policy
	if !installed {
		how += ", once it is installed"
	}
	if fallback != "" {
		how = "as the fallback decides"
	}
	switch {
	case state == "up" && !refused:
		d.add(checkOK, state, agent, "a harmless command is answered: the agent goes on", "")
	case state == "up" && strings.Contains(stderr.String(), ahp.GenericDenial):
		d.add(checkFail, state, agent, "the gateway listens, and it or a backend behind it gives no usable answer in time", "look at its log")
	case state == "up":
		d.add(checkWarn, state, agent, "a harmless command (true) is refused: "+cut(strings.TrimSpace(stderr.String()), 200), "is that what the policy means?")
	case refused:
		d.add(checkOK, state, agent, "every tool call is refused, "+how, "")
	case fallback != "":
		d.add(checkOK, state, agent, "a harmless command goes on, "+how, "")
	default:
		d.add(checkWarn, state, agent, "every tool call goes on WITHOUT a check, "+how, "fail-closed refuses instead")
	}
}

func quoteJSON(s string) string {
	var p page
	if err := p.jsonLine(s); err != nil {
		return `""`
	}
	return strings.TrimSpace(p.String())
}
