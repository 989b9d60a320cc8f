package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// A lost connection is UNAVAILABLE by what the error is, whatever its text says; everything else comes back as it is.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		nil: false,
		&net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}: true,
		&net.OpError{Op: "dial", Net: "unix", Err: errors.New("x")}:   true,
		io.ErrUnexpectedEOF:            true,
		net.ErrClosed:                  true,
		pgconn.ErrConnClosed:           true,
		syscall.EPIPE:                  true,
		context.DeadlineExceeded:       true,
		&pgconn.PgError{Code: "57P01"}: true,
		&pgconn.PgError{Code: "53300"}: true,
		&pgconn.PgError{Code: "23505"}: false,
		pgx.ErrNoRows:                  false,
		context.Canceled:               false,
		errors.New("a text of a store: conn closed, unexpected EOF, connection reset"): false,
		errs.New(errs.InvalidArgument, errs.T("x", "x")):                               false,
	} {
		if err == nil {
			if unavailable(nil) != nil {
				t.Error("nil")
			}
			continue
		}
		wrapped := fmt.Errorf("statement: %w", err)
		got := unavailable(wrapped)
		if (errs.CodeOf(got) == errs.Unavailable) != want || !want && got != wrapped { //nolint:errorlint // it comes back as it is
			t.Errorf("%v: %v", err, got)
		}
	}
}
