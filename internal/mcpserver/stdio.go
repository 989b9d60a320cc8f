package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Stdio serves one client on a pair of pipes, one JSON-RPC message a line, until in ends or ctx does; calls that are
// running then are answered first. The token is checked at once, and again with every call, so that a revoked one stops
// working. Nothing but the protocol is written to out. A read of in that is still blocked when Stdio returns is left
// behind.
func (s *Server) Stdio(ctx context.Context, token string, in io.Reader, out io.Writer, names ToolNames) error {
	if _, err := s.opts.Authenticator.Authenticate(ctx, token); err != nil {
		return fmt.Errorf("stdio: checking the token: %w", err)
	}
	e := s.dotted
	if names == Underscored {
		e = s.underscored
	}
	conn := &stdioConn{
		out: out, maxLine: s.opts.MaxBody, requestID: s.opts.RequestID, drain: s.drain,
		lines: make(chan stdioLine), stop: ctx.Done(), closed: make(chan struct{}),
		pending: map[jsonrpc.ID]struct{}{}, answered: make(chan struct{}, 1),
	}
	go conn.readLines(in)
	session, err := e.server.Connect(context.WithValue(context.WithoutCancel(ctx), stdioKey{}, token), conn, nil)
	if err != nil {
		return fmt.Errorf("stdio: connecting: %w", err)
	}
	if err := session.Wait(); err != nil {
		return fmt.Errorf("stdio: %w", err)
	}
	return nil
}

// stdioConn is the library's connection over two pipes. The library's own would take arrays and repeated members, give
// up on the first malformed line, and drop the answers of calls that run when the input ends.
type stdioConn struct {
	maxLine   int64
	requestID func() string
	drain     *drain
	lines     chan stdioLine
	stop      <-chan struct{} // the server is asked to end
	closed    chan struct{}
	closeOnce sync.Once

	outMu sync.Mutex
	out   io.Writer

	mu      sync.Mutex
	pending map[jsonrpc.ID]struct{} // calls without an answer yet
	// answered gets a token when pending became empty.
	answered chan struct{}
}

type stdioLine struct {
	data []byte
	err  error
}

var errLineTooLong = errors.New("line too long")

// Connect makes the connection its own transport.
func (c *stdioConn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID is empty: a pipe has one session.
func (c *stdioConn) SessionID() string { return "" }

// Close ends Read. The pipes belong to the caller and stay open.
func (c *stdioConn) Close() error {
	c.closeOnce.Do(func() { close(c.closed) })
	return nil
}

// Read gives the next message that may pass; it answers the others itself.
func (c *stdioConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-c.closed:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-c.stop:
			return nil, c.lastAnswers()
		case l := <-c.lines:
			if errors.Is(l.err, errLineTooLong) {
				if err := c.refuse(nil, codeInvalid, fmt.Sprintf("A message is at most %d bytes. Nothing was executed. Send media by URL and split large batches.", c.maxLine)); err != nil {
					return nil, err
				}
				continue
			}
			if l.err != nil {
				if err := c.lastAnswers(); !errors.Is(l.err, io.EOF) {
					return nil, errors.Join(l.err, err)
				}
				return nil, io.EOF
			}
			msg, err := c.admit(l.data)
			if msg != nil || err != nil {
				return msg, err
			}
		}
	}
}

// admit checks one line; a nil message was answered already. The error is one of writing.
func (c *stdioConn) admit(line []byte) (jsonrpc.Message, error) {
	env, err := readEnvelope(line)
	if err != nil {
		bad := &envelopeError{code: codeInvalid, message: "Invalid message."}
		errors.As(err, &bad)
		return nil, c.refuse(bad.id, bad.code, bad.message)
	}
	msg, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return nil, c.refuse(env.id, codeInvalid, "The line is not a JSON-RPC 2.0 message.")
	}
	if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() {
		if why := c.begin(req.ID); why != "" {
			return nil, c.refuse(env.id, codeInvalid, why)
		}
	}
	return msg, nil
}

// begin notes a call that has to be answered; it gives why it cannot be taken.
func (c *stdioConn) begin(id jsonrpc.ID) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.pending[id]; ok {
		return "A call with this id is still running."
	}
	if !c.drain.enter() {
		return "The server is ending. Nothing was executed."
	}
	c.pending[id] = struct{}{}
	return ""
}

func (c *stdioConn) finish(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.pending[id]; !ok {
		return
	}
	delete(c.pending, id)
	c.drain.leave()
	if len(c.pending) == 0 {
		select {
		case c.answered <- struct{}{}:
		default:
		}
	}
}

// lastAnswers waits until every call that was read has its answer, and gives io.EOF.
func (c *stdioConn) lastAnswers() error {
	for {
		c.mu.Lock()
		n := len(c.pending)
		c.mu.Unlock()
		if n == 0 {
			return io.EOF
		}
		select {
		case <-c.answered:
		case <-c.closed:
			return io.EOF
		}
	}
}

// Write sends one message as one line.
func (c *stdioConn) Write(_ context.Context, msg jsonrpc.Message) error {
	if resp, ok := msg.(*jsonrpc.Response); ok {
		// Before the line goes out: the client may use the id again as soon as it has read it. The library keeps the
		// connection until this method returns.
		c.finish(resp.ID)
	}
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return fmt.Errorf("encoding a message: %w", err)
	}
	return c.writeLine(data)
}

func (c *stdioConn) refuse(id json.RawMessage, code int, message string) error {
	return c.writeLine(encodeRPCError(id, code, message, c.requestID()))
}

func (c *stdioConn) writeLine(data []byte) error {
	c.outMu.Lock()
	defer c.outMu.Unlock()
	if _, err := c.out.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("writing a message: %w", err)
	}
	return nil
}

// readLines feeds Read until the input ends. A line that is too long is skipped to its end.
func (c *stdioConn) readLines(in io.Reader) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(r, c.maxLine)
		if err == nil && len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		select {
		case c.lines <- stdioLine{data: line, err: err}:
		case <-c.closed:
			return
		}
		if err != nil && !errors.Is(err, errLineTooLong) {
			return
		}
	}
}

// readLine reads to the next newline, or to the end of the input when something stands before it.
func readLine(r *bufio.Reader, longest int64) ([]byte, error) {
	var line []byte
	tooLong := false
	for {
		part, err := r.ReadSlice('\n')
		if int64(len(line)+len(part)) > longest+1 { // the newline does not count
			tooLong, line = true, nil
		}
		if !tooLong {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case tooLong && (err == nil || errors.Is(err, io.EOF)):
			return nil, errLineTooLong
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		default:
			return line, err
		}
	}
}
