package demo

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/terminal"
)

// numbers matches a JSON list of whole numbers that is spread over lines.
var numbers = regexp.MustCompile(`\[\s+-?\d+(,\s+-?\d+)*\s+\]`)

// style is an SGR sequence of terminals.
type style string

// The styles.
const (
	bold   style = "1"
	faint  style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	blue   style = "34"
	cyan   style = "36"
)

// printer writes for people. What cannot be written is dropped: a closed terminal is nobody's to tell.
type printer struct {
	out    io.Writer
	colour bool
	number int
}

func newPrinter(out io.Writer) *printer {
	if out == nil {
		out = io.Discard
	}
	return &printer{out: out, colour: onTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// onTerminal tells whether out is one.
func onTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (p *printer) paint(s style, text string) string {
	if !p.colour {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

func (p *printer) line(text string) { _, _ = fmt.Fprintln(p.out, text) }

// say prints narration.
func (p *printer) say(text string) { p.line(text) }

// chapter begins the next step.
func (p *printer) chapter(title string) {
	p.number++
	p.line("\n" + p.paint(bold, fmt.Sprintf("── %d. %s", p.number, title)))
}

// sent shows a call with its arguments.
func (p *printer) sent(tool string, arguments any) error {
	text, err := pretty(arguments)
	if err != nil {
		return err
	}
	p.line(p.paint(cyan, "  → "+tool+" "+strings.ReplaceAll(text, "\n", "\n    ")))
	return nil
}

// got shows what came back, one fact a line.
func (p *printer) got(s style, facts ...string) {
	for _, f := range facts {
		p.line(p.paint(s, "  ← "+strings.ReplaceAll(f, "\n", "\n    ")))
	}
}

// google shows what Google holds now.
func (p *printer) google(text string) { p.line(p.paint(yellow, "  ◆ Google now: "+text)) }

// table prints rows under a head.
func (p *printer) table(rows [][]string) {
	for n, text := range terminal.Table(rows) {
		text = "    " + text
		if n == 0 {
			text = p.paint(faint, text)
		}
		p.line(text)
	}
}
