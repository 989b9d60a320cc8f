package worker

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// River's notes are for who debugs; what it warns of is for everybody.
func TestRiverIsQuiet(t *testing.T) {
	t.Parallel()
	said := func(level slog.Level) string {
		var b bytes.Buffer
		log := quiet(slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: level}))).With("queue", "bulk").WithGroup("g")
		log.Info("job counts")
		log.Warn("slow")
		log.Error("lost")
		return b.String()
	}
	if got := said(slog.LevelInfo); strings.Contains(got, "job counts") || !strings.Contains(got, "level=WARN msg=slow queue=bulk") || !strings.Contains(got, "level=ERROR msg=lost") {
		t.Error(got)
	}
	if got := said(slog.LevelDebug); !strings.Contains(got, `level=DEBUG msg="job counts" queue=bulk`) {
		t.Error(got)
	}
}
