package walk

// SecretName reports whether a member of this name holds a credential, in any of the
// usual spellings.
func SecretName(name []byte) bool {
	if len(name) > 32 {
		return false
	}
	var b [32]byte
	n := 0
	for _, c := range name {
		if c == '-' || c == '_' {
			continue
		}
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		b[n] = c
		n++
	}
	switch string(b[:n]) {
	case "token", "bearertoken", "accesstoken", "authtoken", "bearer", "apikey", "xapikey", "password", "passwd", "secret",
		"clientsecret", "secretkey", "privatekey", "credential", "credentials", "authorization":
		return true
	}
	return false
}
