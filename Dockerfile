# syntax=docker/dockerfile:1
# Both programs as static binaries on an image without a shell, as a user without rights. The image brings certificates.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY cmd cmd
COPY internal internal
COPY migrations migrations
COPY tools tools
COPY worker worker
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /out/ ./cmd/mappy-mcp ./cmd/gbpsim

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/mappy-mcp /out/gbpsim /usr/local/bin/
COPY configs/*.yaml /etc/mappy/
USER nonroot:nonroot
EXPOSE 8080 8081
# SIGTERM ends it in order: readiness fails first, running calls to Google finish and are recorded.
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/mappy-mcp"]
CMD ["serve", "--config", "/etc/mappy/production.yaml"]
