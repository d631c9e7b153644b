package shell

import (
	"strings"
)

// forgeCall judges REST calls to hosts of repositories and clouds.
func (x *inv) forgeCall(method, url, body string, hasData bool) {
	f := x.f
	at := x.cmd + 1
	if method == "DELETE" && strings.Contains(url, ":9200/") {
		f.emit(Action{Kind: DataDestroy, Name: "an index", URL: plain(url), Span: x.span, Command: at})
	}
	if strings.Contains(url, "/_delete_by_query") && strings.Contains(body, "match_all") {
		f.emit(Action{Kind: DataDestroy, Name: "an index", URL: plain(url), Span: x.span, Command: at})
	}
	_, after, ok := strings.Cut(url, "/repos/")
	rest := ""
	if ok {
		rest = after
	} else if strings.HasPrefix(url, "repos/") {
		rest = url[len("repos/"):]
	} else if _, after, ok := strings.Cut(url, "/projects/"); ok {
		rest = "x/" + after
	} else if strings.HasPrefix(url, "projects/") {
		rest = "x/" + url[len("projects/"):]
	}
	if rest == "" {
		return
	}
	if j := strings.IndexAny(rest, "?#"); j >= 0 {
		rest = rest[:j]
	}
	parts := strings.Split(strings.Trim(rest, "/"), "/")
	tail := ""
	if len(parts) > 2 {
		tail = strings.Join(parts[2:], "/")
	}
	if method != "" && method[0] == markUnknown && (tail == "" || strings.HasPrefix(tail, "git/refs/")) {
		f.m.undecided(OptionUnknown, method, true, x.cmd, x.span)
	}
	switch method {
	case "DELETE":
		switch {
		case strings.HasPrefix(tail, "git/refs/"), strings.HasPrefix(tail, "repository/branches/"), strings.HasPrefix(tail, "repository/tags/"), strings.HasPrefix(tail, "branches/"), strings.HasPrefix(tail, "repository/merged_branches"), strings.HasPrefix(tail, "tags/"):
			if strings.Contains(tail, "/protection") {
				return
			}
			f.emit(Action{Kind: RefDelete, URL: plain(url), Span: x.span, Command: at})
		case tail == "":
			f.emit(Action{Kind: InfraDestroy, Name: "a hosted repository", URL: plain(url), Span: x.span, Command: at})
		case strings.HasPrefix(tail, "releases/") || strings.HasPrefix(tail, "packages/"):
			f.emit(Action{Kind: PkgPublish, Name: "a release", Span: x.span, Command: at})
		}
	case "PATCH", "POST", "PUT":
		if strings.HasPrefix(tail, "git/refs/") && forceBody(body) {
			f.emit(Action{Kind: PushForce, URL: plain(url), Span: x.span, Command: at})
		}
		if method == "POST" && tail == "releases" {
			f.emit(Action{Kind: PkgPublish, Name: "a release", Span: x.span, Command: at})
		}
	}
	_ = hasData
}

func forceBody(body string) bool {
	b := strings.ReplaceAll(strings.ReplaceAll(body, " ", ""), `'`, `"`)
	return strings.Contains(b, `"force":true`) || strings.Contains(b, "force=true")
}

// forge is gh and glab.
func (x *inv) forge() value {
	f, p := x.f, x.p
	at := x.cmd + 1
	out := x.runSpec()
	sub := strings.Join(p.sub, " ")
	switch sub {
	case "api":
		method, body := "", ""
		for i := range p.flags {
			fl := &p.flags[i]
			switch fl.name {
			case "-X":
				method = strings.ToUpper(fl.val.s)
			case "-f", "-F":
				body += " " + fl.val.s
				if _, v, ok := strings.Cut(fl.val.s, "=@"); ok && fl.name == "-F" {
					f.readFile(fl.val.with(v), x.cmd, false)
				}
			case "--input":
				c := x.sendFile(fl.val)
				body += " " + c.s
			}
		}
		if method == "" && body != "" {
			method = "POST"
		}
		if len(p.pos) > 0 {
			u := strings.TrimPrefix(p.pos[0].s, "/")
			x.forgeCall(method, u, body, body != "")
			if u == "graphql" {
				switch {
				case strings.Contains(body, "deleteRef"):
					f.emit(Action{Kind: RefDelete, Span: x.span, Command: at})
				case strings.Contains(body, "updateRef") && strings.Contains(strings.ReplaceAll(body, " ", ""), "force:true"):
					f.emit(Action{Kind: PushForce, Span: x.span, Command: at})
				}
			}
		}
	case "alias set":
		if len(p.pos) > 1 {
			// Only stored.
			return out
		}
	case "gist create", "snippet create":
		f.emit(Action{Kind: NetUpload, Name: "a gist", Span: x.span, Command: at})
		for _, v := range p.pos {
			if v.s != "-" {
				f.readFile(v, x.cmd, false)
			}
		}
	case "codespace ssh":
		if len(p.pos) > 0 {
			f.run(joinValues(p.pos, " "), ViaRemote, nil)
		}
	}
	return out
}
