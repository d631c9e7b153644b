package audit

// NextSpoolLine is for the fuzz test: files would make it too slow.
var NextSpoolLine = nextSpoolLine
