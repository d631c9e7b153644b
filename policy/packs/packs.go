// Package packs holds the policies that are part of the program, as files. It
// knows nothing of their meaning: package policy reads them as it reads any other
// policy.
package packs

import "embed"

// FS has one folder for each pack, with its policy files and their cases beside
// them.
//
//go:embed default
var FS embed.FS
