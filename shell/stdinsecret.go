package shell

import (
	"slices"
	"strings"
)

// stdinSecret records a credential that is written into the text to be a program's
// input: a password for sudo -S, a token for a log-in.
func (x *inv) stdinSecret() {
	first, _, _ := strings.Cut(strings.TrimSpace(x.in.s), "\n")
	if strings.ContainsAny(first, " \t") || x.in.t&(dataTaints|tNet|tPeer|tDecoded|tNames) != 0 {
		return
	}
	given := func(words ...string) bool {
		for _, a := range x.args[1:] {
			if slices.Contains(words, a.s) {
				return true
			}
		}
		return false
	}
	role := ""
	switch x.name {
	case "sudo":
		for _, a := range x.args[1:] {
			if !strings.HasPrefix(a.s, "-") {
				break
			}
			if a.s == "--stdin" || !strings.HasPrefix(a.s, "--") && strings.Contains(a.s, "S") {
				role = "secret"
			}
		}
	case "chpasswd":
		role = "userpass"
	case "passwd", "smbpasswd":
		if given("--stdin", "-s") {
			role = "secret"
		}
	case "gh", "glab":
		if given("--with-token", "--stdin") || x.name == "gh" && len(x.args) > 2 && x.args[1].s == "secret" && x.args[2].s == "set" && !given("-b", "--body", "-f", "--env-file") {
			role = "secret"
		}
	case "docker", "podman", "nerdctl", "buildah", "skopeo", "helm", "oras", "crane", "regctl", "az", "oc":
		if given("--password-stdin") {
			role = "secret"
		}
	case "kubectl":
		for _, a := range x.args[1:] {
			if strings.HasPrefix(a.s, "--from-file=") && strings.HasSuffix(a.s, "/dev/stdin") && given("secret") {
				role = "secret"
			}
		}
	case "vault":
		if len(x.args) > 2 && x.args[1].s == "login" && given("-") {
			role = "secret"
		}
	case "gpg", "gpg2":
		for i, a := range x.args {
			if a.s == "--passphrase-fd" && i+1 < len(x.args) && x.args[i+1].s == "0" || a.s == "--passphrase-fd=0" {
				role = "secret"
			}
		}
	case "cryptsetup":
		if given("-", "--key-file=-") {
			role = "secret"
		}
	}
	if role != "" {
		x.literalSecret(role, x.in.with(first))
	}
}
