package mcpserver

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
)

// rpcError is a JSON-RPC answer that the front gives by itself.
type rpcError struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   rpcErrorBody    `json:"error"`
}

type rpcErrorBody struct {
	Code    int          `json:"code"`
	Message string       `json:"message"`
	Data    rpcErrorData `json:"data"`
}

type rpcErrorData struct {
	RequestID string `json:"request_id"`
}

// encodeRPCError renders a JSON-RPC error; a nil id becomes null.
func encodeRPCError(id json.RawMessage, code int, message, requestID string) []byte {
	b, err := json.Marshal(rpcError{JSONRPC: "2.0", ID: id, Error: rpcErrorBody{Code: code, Message: message, Data: rpcErrorData{RequestID: requestID}}})
	if err != nil { // strings, a number and an id that was valid JSON
		return []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"internal error"}}`)
	}
	return b
}

func writeRPCError(w http.ResponseWriter, status int, id json.RawMessage, code int, message string) {
	body := encodeRPCError(id, code, message, w.Header().Get(requestIDHeader))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // encoded by encoding/json, sent as application/json with nosniff
}

// writeCatalogued answers with an error of the catalogue. The cause inside e is for logs and is not written.
func writeCatalogued(w http.ResponseWriter, e *errs.Error, locale errs.Locale) {
	public := e.Public(locale, w.Header().Get(requestIDHeader))
	body, err := json.Marshal(public)
	if err != nil {
		body = []byte(`{"error_code":"INTERNAL"}`)
	}
	if public.Retry.AfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(public.Retry.AfterSeconds))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(public.Status)
	_, _ = w.Write(body)
}
