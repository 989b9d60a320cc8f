package gbpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"

	accountmanagement "google.golang.org/api/mybusinessaccountmanagement/v1"
	businessinformation "google.golang.org/api/mybusinessbusinessinformation/v1"
	"google.golang.org/api/option"

	"github.com/mappy-dev/mappy-mcp/internal/errs"
	"github.com/mappy-dev/mappy-mcp/internal/gbpapi/endpoint"
)

// bound is an HTTP transport for Google's generated packages that makes every request as one call of one connection. It
// returns failed calls as *Error, so that they are classified where all others are.
type bound struct {
	client *Client
	call   call
}

// RoundTrip makes a read; the generated packages are used for nothing else here.
func (b bound) RoundTrip(req *http.Request) (*http.Response, error) {
	k := b.call
	if req.Method != http.MethodGet {
		return nil, k.fail(Refused, errs.Internal, "only reads go through Google's packages", nil)
	}
	k.method, k.url, k.header = req.Method, req.URL.String(), req.Header
	a, failed := b.client.do(req.Context(), k)
	if failed != nil {
		return nil, failed
	}
	return &http.Response{
		Status: strconv.Itoa(a.status) + " " + http.StatusText(a.status), StatusCode: a.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header, Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)), Request: req,
	}, nil
}

// options bind a generated service to one connection. Services are made per call: they are cheap and hold nothing shared.
func (c *Client) options(k call, host endpoint.Host) []option.ClientOption {
	return []option.ClientOption{
		option.WithHTTPClient(&http.Client{Transport: bound{client: c, call: k}}),
		option.WithEndpoint(c.base.URL(host)),
	}
}

func (c *Client) accountsService(ctx context.Context, k call) (*accountmanagement.Service, error) {
	s, err := accountmanagement.NewService(ctx, c.options(k, endpoint.AccountManagement)...)
	if err != nil {
		return nil, k.fail(Operator, errs.Internal, "making the client", nil)
	}
	s.UserAgent = c.userAgent
	return s, nil
}

func (c *Client) locationsService(ctx context.Context, k call) (*businessinformation.Service, error) {
	s, err := businessinformation.NewService(ctx, c.options(k, endpoint.BusinessInformation)...)
	if err != nil {
		return nil, k.fail(Operator, errs.Internal, "making the client", nil)
	}
	s.UserAgent = c.userAgent
	return s, nil
}

// generatedError finds our error in what a generated package returns. The packages put the context's error in its place when
// the context has ended; anything else is an answer that they could not read.
func (k call) generatedError(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if ended := ctx.Err(); ended != nil {
		return k.fail(NotSent, errs.GBPUnavailable, "abandoned", ended)
	}
	return k.unclear("the answer cannot be read", nil)
}
