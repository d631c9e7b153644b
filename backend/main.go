package backend

import (
	"context"
	"fmt"
)

// StdioMain serves the process's own stdin and stdout until stdin ends or ctx
// does, as [Server.ServeStdio]: it is the main job of a stdio backend. First it
// takes both away from the rest of the process, so that nothing but answers is
// ever on stdout (AHP-STDIO-001, V-IO-2): os.Stdout becomes stderr, and on Unix
// the file descriptors too, so that this holds for child processes as well; stdin
// becomes empty. This is not undone. It can be called once.
//
// It does not watch signals: give it a ctx of [os/signal.NotifyContext]. On an
// error of a stdio backend's exchange the process should end with a status other
// than 0 (V-IO-11).
func StdioMain(ctx context.Context, s *Server) error {
	in, out, err := takeStdio()
	if err != nil {
		return fmt.Errorf("taking stdin and stdout: %w", err)
	}
	err = s.ServeStdio(ctx, in, out)
	_ = in.Close()
	if closed := out.Close(); err == nil && closed != nil {
		err = closed
	}
	return err
}
