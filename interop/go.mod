module github.com/holdpoint/holdpoint/interop

go 1.26.0

require github.com/holdpoint/holdpoint v0.0.0

require (
	github.com/go-json-experiment/json v1.27.2 // indirect
	github.com/google/uuid v1.6.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
)

replace github.com/holdpoint/holdpoint => ../
