package shell

import (
	"strings"
)

// prefix judges what an HTTP listener is bound to.
func (r *psRun) prefix(v value, at Span) {
	if h := hostOf(v.s); !loopback(h) || h == "0.0.0.0" {
		r.f.emit(Action{Kind: NetListen, Host: plain(h), Span: at})
	}
}

// peer records a connection to a host.
func (r *psRun) peer(host value, at Span) {
	r.f.emit(Action{Kind: NetConnect, Host: plain(host.s), Span: at})
	if !host.known() || !loopback(host.s) {
		*r.connected = true
	}
}

// startInfo starts the process that a ProcessStartInfo describes.
func (r *psRun) startInfo(obj psv, at Span) {
	info := obj
	if s, ok := obj.hash["startinfo"]; ok {
		info = s
	}
	file := info.hash["filename"].one()
	line := concat(file, lit(" "))
	line = concat(line, info.hash["arguments"].one())
	if strings.EqualFold(info.hash["verb"].text(), "runas") {
		r.f.emit(Action{Kind: PrivElevate, Span: at})
	}
	if _, piped := info.hash["redirectstandardinput"]; piped && *r.connected {
		r.f.emit(Action{Kind: NetShell, Span: at})
	}
	if file.s != "" {
		r.f.cmdLine(line, at)
	}
}

// psFetch records a download and gives what comes.
func (x *inv) psFetch(u value) value {
	f := x.f
	x.fetch(u)
	out := value{s: unknownText, t: tNet | tCmd, span: x.span}
	if metadataHost(u.s) {
		out.src = append(out.src, f.emit(Action{Kind: SecretReveal, Name: "the metadata service", Span: x.span, Command: x.cmd + 1}))
	}
	if rest, ok := strings.CutPrefix(strings.ToLower(u.s), "file:///"); ok {
		return f.readFile(u.with(rest), x.cmd, false)
	}
	if h := hostOf(u.s); u.known() && loopback(h) {
		out.t = tCmd
	}
	if u.t&(tFile|tEnv) != 0 {
		f.emit(Action{Kind: NetUpload, Host: plain(hostOf(u.s)), Span: x.span, Command: x.cmd + 1})
	}
	return out
}

// psUpload records that data goes to a URL.
func (x *inv) psUpload(u, data value) {
	f := x.f
	x.fetch(u)
	host := hostOf(u.s)
	if data.t&(tFile|tEnv) == 0 && !(data.has(tCmd) && data.t&(tNet|tNames) == 0) {
		return
	}
	if u.known() && loopback(host) {
		return
	}
	f.emit(Action{Kind: NetUpload, Host: plain(host), Dry: x.dry, Span: x.span, Command: x.cmd + 1})
	if data.has(tEnv) {
		f.emit(Action{Kind: EnvSend, Span: x.span, Command: x.cmd + 1})
	}
}
