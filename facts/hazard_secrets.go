package facts

import (
	"path"
	"strings"

	"github.com/holdpoint/holdpoint/shell"
)

// read judges a file whose content comes into a program or its output.
func (h *hazardFinder) read(a *shell.Action) {
	if a.Quiet {
		return
	}
	if secretFile(&a.Path) {
		h.add(SecretsRead, "a file that holds secrets is read", a)
	}
}

// secretNames are base names of files that hold secrets wherever they lie.
var secretNames = map[string]bool{
	".env": true, ".envrc": true, ".netrc": true, "_netrc": true, ".npmrc": true, ".yarnrc.yml": true, ".pypirc": true, ".git-credentials": true, ".pgpass": true, ".my.cnf": true, ".htpasswd": true,
	".vault-token": true, ".s3cfg": true, ".boto": true, ".dockercfg": true, ".dockerconfigjson": true, "id_rsa": true, "id_ed25519": true, "id_ecdsa": true, "id_dsa": true,
	"id_ed25519_sk": true, "id_ecdsa_sk": true, "identity": true, "credentials.json": true, "service-account.json": true, "serviceaccount.json": true, "service_account.json": true, "kubeconfig": true,
	"master.key": true, "credentials.tfrc.json": true, "secrets.yml": true, "secrets.yaml": true, "secrets.json": true, "secrets.toml": true, "secrets.env": true, "secret.yaml": true, "secret.yml": true, "client_secret.json": true,
	"application_default_credentials.json": true, "access_tokens.db": true, "credentials.db": true, "accesstokens.json": true, "msal_token_cache.json": true, "logins.json": true, "key4.db": true, "login data": true, "cookies.sqlite": true,
	"login.keychain-db": true, "login.keychain": true, "rclone.conf": true, "wallet.dat": true, "keystore.jks": true, ".terraformrc": true, "auth.json": true, "passwords.txt": true, "credentials.xml": true, "htpasswd": true, "shadow": false, ".secrets": true, "tokens.json": true, "token.json": true, ".bw": true, "tnsnames.ora": false,
}

// secretSuffixes are ends of absolute paths.
var secretSuffixes = [...]string{
	"/.aws/credentials", "/.aws/config", "/.docker/config.json", "/.kube/config", "/.config/gh/hosts.yml", "/.config/hub", "/.config/glab-cli/config.yml", "/.cargo/credentials", "/.cargo/credentials.toml",
	"/.gem/credentials", "/.config/op/config", "/.composer/auth.json", "/.config/composer/auth.json", "/.m2/settings.xml", "/.gradle/gradle.properties", "/.nuget/nuget.config", "/.config/heroku/credentials", "/.config/doctl/config.yaml",
	"/.config/fly/config.yml", "/.fly/config.yml", "/.config/stripe/config.toml", "/.ssh/identity", "/.terraform.d/credentials.tfrc.json", "/.config/containers/auth.json", "/.huggingface/token", "/.cache/huggingface/token", "/.config/pip/pip.conf", "/.pip/pip.conf",
	"/.config/git/credentials", "/.pulumi/credentials.json", "/.vercel/auth.json", "/.config/netlify/config.json", "/.netlify/config.json", "/.claude/.credentials.json", "/.codex/auth.json", "/.gemini/oauth_creds.json",
	"/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/security/opasswd", "/etc/master.passwd", "/etc/kubernetes/admin.conf", "/etc/rancher/k3s/k3s.yaml", "/etc/krb5.keytab", "/etc/ssl/private", "/etc/sudoers_none",
	"/.config/sops/age/keys.txt", "/.oci/config", "/.config/configstore/firebase-tools.json", "/.config/gcloud/credentials.db", "/.boto", "/.azure/accesstokens.json", "/.azure/msal_token_cache.json",
	"/.local/share/keyrings", "/library/keychains", "/.password-store", "/.gnupg", "/.ssh", "/.aws", "/.kube", "/.docker", "/.config/gcloud", "/.azure", "/.config/gh",
}

// secretEnds is secretSuffixes by their last element.
var secretEnds = func() map[string][]string {
	m := map[string][]string{}
	for _, s := range secretSuffixes {
		m[path.Base(s)] = append(m[path.Base(s)], s)
	}
	return m
}()

// secretFolders are parts of paths whose files are all secret. Each begins with a hidden
// folder, /etc, /run or the library of macOS: secretPath asks for that first.
var secretFolders = [...]string{
	"/.gnupg/private-keys-v1.d/", "/.gnupg/secring", "/etc/ssl/private/", "/run/secrets/", "/var/run/secrets/", "/.password-store/", "/.local/share/keyrings/", "/library/keychains/", "/.config/gcloud/legacy_credentials/", "/.config/google-chrome/default/login data", "/.aws/sso/cache/", "/.aws/cli/cache/", "/etc/letsencrypt/live/", "/etc/letsencrypt/archive/", "/etc/pki/tls/private/", "/.config/1password/", "/.electrum/wallets/", "/.ethereum/keystore/",
}

// secretFile reports whether a path names a file that holds secret values. A
// pattern does when it may match such a file.
func secretFile(p *shell.Path) bool {
	abs := strings.ToLower(p.Abs)
	if abs == "" {
		return false
	}
	if p.Glob {
		return secretGlob(abs)
	}
	return secretPath(abs)
}

func secretPath(abs string) bool {
	base := path.Base(abs)
	if strings.HasPrefix(abs, "/proc/") && base == "environ" {
		return true
	}
	if strings.HasPrefix(base, "secring.") {
		return true
	}
	switch l := strings.ToLower(abs); path.Base(l) {
	case "cookies", "login data", "cookies.sqlite", "logins.json", "key4.db": // of browsers
		return strings.Contains(l, "chrom") || strings.Contains(l, "firefox") || strings.Contains(l, "mozilla") || strings.Contains(l, "brave") || strings.Contains(l, "edge")
	}
	for _, s := range [...]string{".example", ".sample", ".template", ".dist", ".tmpl", ".tpl", ".pub", ".md", ".schema", ".defaults", ".j2", "-example", "_example", "-sample", ".gpg", ".age", ".enc", ".vault", ".sops", ".d.ts", "-template", ".tftpl", ".sha256", ".test.ts"} {
		if strings.HasSuffix(base, s) {
			// An encrypted file is no secret value, a sample neither.
			return false
		}
	}
	if secretNames[base] {
		return true
	}
	if rest, ok := strings.CutPrefix(base, ".env."); ok {
		for part := range strings.SplitSeq(rest, ".") {
			switch part {
			case "example", "sample", "template", "dist", "schema", "defaults", "tmpl", "default", "ci-example", "d", "ts":
				return false
			}
		}
		return true
	}
	if strings.HasPrefix(base, ".env-") || strings.HasPrefix(base, ".env_") {
		return !strings.Contains(base, "example") && !strings.Contains(base, "sample") && !strings.Contains(base, "template")
	}
	switch path.Ext(base) {
	case ".env":
		return !strings.Contains(base, "example") && !strings.Contains(base, "sample") && !strings.Contains(base, "template")
	case ".key", ".p12", ".pfx", ".jks", ".ppk", ".keystore", ".kdbx", ".keytab", ".p8", ".agekey", ".tfstate":
		return !strings.Contains(base, "public") && !strings.Contains(base, "pub.")
	case ".pem":
		if strings.HasPrefix(abs, "/etc/ssl/certs/") || strings.Contains(abs, "/certs/") && !strings.Contains(base, "key") {
			return false
		}
		for _, s := range [...]string{"cert", "chain", "ca", "public", "pub", "csr", "bundle", "dhparam", "fullchain"} {
			if base == s+".pem" || strings.HasPrefix(base, s+"-") || strings.HasSuffix(base, "-"+s+".pem") || strings.Contains(base, "cert") || strings.Contains(base, "public") {
				return false
			}
		}
		return true
	}
	if strings.HasSuffix(base, "_rsa") || strings.HasSuffix(base, "_ed25519") || strings.HasSuffix(base, "_ecdsa") || strings.HasPrefix(base, "id_") && strings.Contains(abs, "/.ssh/") {
		return true
	}
	if strings.HasPrefix(base, "service-account") && strings.HasSuffix(base, ".json") || strings.HasPrefix(base, "client_secret") && strings.HasSuffix(base, ".json") || strings.HasPrefix(base, "gcp-key") {
		return true
	}
	for _, s := range secretEnds[base] {
		if strings.HasSuffix(abs, s) {
			return true
		}
	}
	if strings.Contains(abs, "/.") || strings.Contains(abs, "/etc/") || strings.Contains(abs, "/run/") || strings.Contains(abs, "/library/") {
		for _, s := range secretFolders {
			if strings.Contains(abs, s) {
				return true
			}
		}
	}
	if strings.Contains(abs, "/.ssh/") {
		switch base {
		case "config", "known_hosts", "known_hosts.old", "authorized_keys", "environment", "rc", "allowed_signers":
			return false
		}
		return true
	}
	return false
}

// globNames are the names that a pattern is tried against.
var globNames = [...]string{".env", ".env.local", ".env.production", "id_rsa", "id_ed25519", "credentials", ".netrc", ".npmrc", ".git-credentials", ".pgpass", "server.key", "key.pem", "shadow", "environ", ".pypirc", "secrets.yml", "hosts.yml", "config.json", "config"}

func secretGlob(abs string) bool {
	if strings.Contains(abs, "/proc/") && strings.HasSuffix(abs, "/environ") {
		return true
	}
	dir, base := path.Split(abs)
	if !strings.ContainsAny(base, "*?[") {
		if base == "" {
			return false
		}
		// The pattern is in a folder: the name decides.
		return secretPath(strings.NewReplacer("*", "x", "?", "x", "[", "x", "]", "x").Replace(abs))
	}
	if strings.ContainsAny(dir, "*?[") {
		// Try the folders that hold secrets.
		for _, known := range [...]string{"/home/dev/.ssh/id_rsa", "/home/dev/.aws/credentials", "/etc/shadow", "/root/.ssh/id_rsa", "/home/dev/.kube/config"} {
			if ok, err := path.Match(abs, known); err == nil && ok {
				return true
			}
		}
	}
	for _, n := range globNames {
		if n[0] == '.' && base[0] != '.' && base[0] != '[' {
			continue // a leading dot is matched only by a dot
		}
		ok, err := path.Match(base, n)
		if err == nil && ok && secretPath(dir+n) {
			if base == "*" && !strings.Contains(dir, "/.") {
				continue // all files of an ordinary folder
			}
			return true
		}
	}
	return false
}

// publicSetting reports whether the name of one variable that holds no secret is
// all that a pattern looks for.
func publicSetting(name string) bool {
	switch name {
	case "aws_region", "aws_default_region", "aws_profile", "azure_location", "gcp_project", "gcp_region", "github_ref", "github_sha", "github_repository", "github_workspace", "github_actions", "npm_config_registry", "api_url", "api_host", "api_base", "api_version", "author":
		return true
	}
	return false
}

// envPattern reports whether a search of the environment is for secrets.
func envPattern(pat string) bool {
	p := strings.ToLower(pat)
	if w := strings.Trim(p, "^=$'\""); publicSetting(w) {
		return false
	}
	for _, s := range [...]string{"key", "token", "secret", "pass", "pwd", "cred", "auth", "api", "private", "aws", "azure", "gcp", "github", "gitlab", "npm_", "jwt", "cert", "login", "database_url", "dsn", "stripe", "openai", "anthropic"} {
		if strings.Contains(p, s) {
			return true
		}
	}
	return strings.Contains(pat, "…")
}

// secretLiterals judges credentials that stand in the text itself.
func (h *hazardFinder) secretLiterals() {
	for i := range h.f.Secrets {
		s := &h.f.Secrets[i]
		h.put(Hazard{Code: SecretsLiteral, Certainty: Certain, Detail: s.Kind, Span: s.Span})
	}
	if h.text == "" || h.r == nil {
		return
	}
	if at, ok := literalSecret(h.text); ok && !h.searched(h.text[at.Start:at.End]) {
		h.put(Hazard{Code: SecretsLiteral, Certainty: Certain, Detail: "a credential in the text", Span: at})
	}
}

// searched reports whether text is what a search looks for: a pattern is no
// credential that is used.
func (h *hazardFinder) searched(text string) bool {
	for i := range h.r.Commands {
		c := &h.r.Commands[i]
		switch c.Program {
		case "grep", "rg", "egrep", "fgrep", "ag", "ack", "sha256sum":
		case "git":
			if len(c.Sub) == 0 || c.Sub[0] != "log" && c.Sub[0] != "grep" {
				continue
			}
		default:
			continue
		}
		for j := range c.Args {
			if strings.Contains(c.Args[j].Value, text) {
				return true
			}
		}
	}
	return false
}

// tokenPrefixes begin the tokens of well-known services, with the least length of
// what follows.
var tokenPrefixes = [...]struct {
	prefix string
	least  int
}{
	{"ghp_", 20},
	{"gho_", 20},
	{"ghu_", 20},
	{"ghs_", 20},
	{"ghr_", 20},
	{"github_pat_", 20},
	{"glpat-", 16},
	{"npm_", 30},
	{"sk-", 20},
	{"sk_live_", 14},
	{"rk_live_", 14},
	{"sk_test_", 16},
	{"pk_live_", 200},
	{"xoxb-", 12},
	{"xoxp-", 12},
	{"xoxa-", 12},
	{"xoxs-", 12},
	{"xapp-", 12},
	{"AKIA", 16},
	{"ASIA", 16},
	{"AIza", 30},
	{"ya29.", 20},
	{"hf_", 24},
	{"pypi-", 24},
	{"dop_v1_", 20},
	{"shpat_", 20},
	{"SG.", 20},
	{"hvs.", 16},
	{"hvb.", 20},
	{"dckr_pat_", 16},
	{"eyJhbGci", 40},
	{"rubygems_", 20},
	{"lin_api_", 20},
	{"tfp_", 20},
	{"sbp_", 20},
	{"PMAK-", 20},
	{"glsa_", 20},
	{"vercel_", 20},
	{"figd_", 20},
	{"AGE-SECRET-KEY-1", 20},
	{"whsec_", 20},
	{"cio", 400},
	{"nvapi-", 20},
	{"gsk_", 20},
	{"xai-", 20},
	{"r8_", 30},
	{"EAAC", 60},
	{"glrt-", 16},
	{"gldt-", 16},
	{"ATATT3", 20},
	{"NRAK-", 20},
	{"pul-", 30},
	{"fo1_", 20},
	{"sq0atp-", 20},
	{"key-", 32},
}

// shortestToken is the length of the shortest text that a token can be.
var shortestToken = func() int {
	n := 1 << 20
	for _, t := range tokenPrefixes {
		n = min(n, len(t.prefix)+t.least)
	}
	return n
}()

// longRun reports whether a text has room for a token: few lines have, and only
// in those is it worth to look for each prefix.
func longRun(text string) bool {
	run := 0
	for i := 0; i < len(text); i++ {
		if !tokenChar(text[i]) {
			run = 0
			continue
		}
		if run++; run >= shortestToken {
			return true
		}
	}
	return false
}

func tokenChar(c byte) bool {
	return c == '_' || c == '-' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// literalSecret finds the first credential in a text: a token of a known form, a
// private key, a password in a URL, or a value given to a name that says secret.
func literalSecret(text string) (Span, bool) {
	prefixes := tokenPrefixes[:]
	if !longRun(text) {
		prefixes = nil
	}
	for _, t := range prefixes {
		from := 0
		for {
			i := strings.Index(text[from:], t.prefix)
			if i < 0 {
				break
			}
			i += from
			from = i + len(t.prefix)
			if i > 0 && tokenChar(text[i-1]) && text[i-1] != '-' && text[i-1] != '_' && text[i-1] != '.' {
				continue
			}
			end := from
			for end < len(text) && tokenChar(text[end]) {
				end++
			}
			body := text[from:end]
			if len(body) >= t.least && varied(body) {
				return Span{Start: i, End: end}, true
			}
		}
	}
	if i := strings.Index(text, "PRIVATE KEY-----"); i >= 0 {
		rest := text[i+len("PRIVATE KEY-----"):]
		if n := len(strings.TrimSpace(rest)); n > 16 && strings.Contains(text[:i], "-----BEGIN") && varied(rest[:min(len(rest), 64)]) {
			return Span{Start: i, End: i + len("PRIVATE KEY-----")}, true
		}
	}
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case ':':
			if strings.HasPrefix(text[i:], "://") {
				if end, ok := urlPassword(text, i+3); ok {
					return Span{Start: i, End: end}, true
				}
				continue
			}
			if key := i > 0 && tokenChar(text[i-1]); key && quoteNext(text[i+1:]) && objectKey(text, i) {
				if end, ok := namedSecret(text, i, i+1); ok {
					return Span{Start: i, End: end}, true
				}
				continue
			}
			if i > 0 && (text[i-1] == '"' || text[i-1] == '\'') {
				if end, ok := namedSecret(text, i-1, i+1); ok {
					return Span{Start: i, End: end}, true
				}
			}
		case '=':
			if end, ok := namedSecret(text, i, i+1); ok {
				return Span{Start: i, End: end}, true
			}
		}
	}
	return Span{}, false
}

// quoteNext reports whether a quote comes next, behind one blank at most.
func quoteNext(s string) bool {
	s = strings.TrimPrefix(s, " ")
	return s != "" && (s[0] == '"' || s[0] == '\'')
}

// objectKey reports whether the word that ends at sep is a key of an object literal: a
// brace, a comma or a blank stands in front of it.
func objectKey(text string, sep int) bool {
	i := sep
	for i > 0 && tokenChar(text[i-1]) {
		i--
	}
	return i > 0 && strings.IndexByte("{, \t\n", text[i-1]) >= 0
}

// varied reports whether a token is more than a placeholder.
func varied(s string) bool {
	l := strings.ToLower(s)
	for _, p := range [...]string{"xxxx", "0000000", "1234567890", "abcdef123456", "example", "your", "placeholder", "redacted", "aaaaaaa", "......"} {
		if strings.Contains(l, p) {
			return false
		}
	}
	var seen [256]bool
	kinds := 0
	for i := 0; i < len(s) && i < 80; i++ {
		if !seen[s[i]] {
			seen[s[i]] = true
			kinds++
		}
	}
	return kinds >= 8
}

func urlPassword(text string, at int) (int, bool) {
	end := at
	for end < len(text) && strings.IndexByte(" \t\n\"'`/;|&<>)?#", text[end]) < 0 {
		end++
	}
	user := text[at:end]
	k := strings.LastIndexByte(user, '@')
	if k < 0 {
		return 0, false
	}
	name, pass, ok := strings.Cut(user[:k], ":")
	host := user[k+1:]
	if !ok || !strongSecret(pass) {
		return 0, false
	}
	if strings.HasPrefix(host, "localhost") || strings.HasPrefix(host, "127.") || pass == name {
		return 0, false
	}
	return end, true
}

// strongSecret reports whether a value, given as a password, is one that
// somebody uses: no variable, no placeholder, no well-known default.
func strongSecret(s string) bool {
	if len(s) < 4 || len(s) > 4096 {
		return false
	}
	l := strings.ToLower(s)
	if strings.ContainsAny(s, "$<>{}%*…`()") {
		return false
	}
	for _, p := range [...]string{"example", "changeme", "change-me", "change_me", "placeholder", "redacted", "your", "xxxx", "todo", "dummy", "sample", "insert", "replace", "secret-here", "fake", "process.env", "os.environ", "env.", "secrets.", "vault:", "op://", "file://", "getenv", "config.", "args.", "options.", "self.", "params.", "null", "undefined", "true", "false"} {
		if strings.Contains(l, p) {
			return false
		}
	}
	switch l {
	case "postgres", "password", "secret", "root", "admin", "mysql", "guest", "test", "test123", "minioadmin", "token", "user", "pass", "passwd", "docker", "dev", "local", "none", "string", "bool", "redis", "ci", "app", "test-token", "testing", "abc123", "foobar", "rootpassword":
		return false
	}
	return true
}

// namedSecret judges NAME=value and "name": "value". The name ends before sep.
func namedSecret(text string, sep, at int) (int, bool) {
	start := sep
	for start > 0 && tokenChar(text[start-1]) {
		start--
	}
	name := strings.Trim(text[start:sep], "-.")
	if name == "" || len(name) > 64 || !secretKey(name) {
		return 0, false
	}
	for at < len(text) && (text[at] == ' ' && text[sep] != '=' || text[at] == '"' || text[at] == '\'' || text[at] == '\\') {
		at++
	}
	stop := at
	for stop < len(text) && strings.IndexByte(" \t\r\n\"'`;|&,", text[stop]) < 0 {
		stop++
	}
	val := text[at:stop]
	if len(val) < 6 || !strongSecret(val) || strings.HasPrefix(val, "/") || strings.HasPrefix(val, "./") || strings.HasPrefix(val, "~") || strings.Contains(val, "://") || strings.HasPrefix(val, "@") || strings.HasPrefix(val, "=") || strings.HasPrefix(val, "-") {
		return 0, false
	}
	digits, upper, lower := false, false, false
	for i := 0; i < len(val); i++ {
		switch c := val[i]; {
		case c >= '0' && c <= '9':
			digits = true
		case c >= 'A' && c <= 'Z':
			upper = true
		case c >= 'a' && c <= 'z':
			lower = true
		}
	}
	if digits && (upper || lower) || upper && lower && len(val) >= 10 {
		return stop, true
	}
	return 0, false
}

func secretKey(name string) bool {
	u := strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	u = strings.ReplaceAll(u, ".", "_")
	for _, s := range [...]string{"_FILE", "_PATH", "_STDIN", "_URL", "_ID", "_NAME", "_TYPE", "_LENGTH", "_FIELD", "_HEADER", "_TTL", "_EXPIRY", "_REF", "_ARN", "_LIMIT", "_COUNT", "_ENV", "_POLICY", "_AGE"} {
		if strings.HasSuffix(u, s) {
			return false
		}
	}
	return shell.SecretVariable(u) || u == "_AUTH" || u == "_AUTHTOKEN"
}
