package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/mappy-dev/mappy-mcp/internal/authn"
)

// Seal chains a run of events to all that came before: digest over the leaves in order, hash over the previous seal's hash
// and this digest. From and Upto are transaction ids, From included and Upto not.
type Seal struct {
	Tenant authn.TenantID
	No     int64
	From   string
	Upto   string
	Prev   []byte
	Leaves []LeafOf
}

// LeafOf is one event in a seal.
type LeafOf struct {
	EventID string
	Hash    []byte
}

// Add puts the next event into the seal.
func (s *Seal) Add(eventID string, body []byte) {
	s.Leaves = append(s.Leaves, LeafOf{EventID: eventID, Hash: Leaf(body)})
}

// Digest is the digest over the seal's leaves.
func (s *Seal) Digest() []byte {
	h := sha256.New()
	for _, l := range s.Leaves {
		h.Write([]byte(l.EventID))
		h.Write(l.Hash)
	}
	return h.Sum(nil)
}

// Hash is what the next seal builds on.
func (s *Seal) Hash() []byte {
	h := sha256.New()
	h.Write(s.Prev)
	h.Write(s.Digest())
	_ = binary.Write(h, binary.BigEndian, int64(len(s.Leaves))) // a hash takes every write
	_, _ = fmt.Fprintf(h, "|%s|%d|%s|%s", s.Tenant, s.No, s.From, s.Upto)
	return h.Sum(nil)
}

// StoredSeal is a seal as the database holds it.
type StoredSeal struct {
	Seal
	N          int64
	StoredHash []byte
	StoredSum  []byte
}

// StoredEvent is an event's row, with the columns that are derived from its body.
type StoredEvent struct {
	ID      string
	Body    []byte
	Columns string
}

// Report is the result of a verification.
type Report struct {
	Tenant   authn.TenantID `json:"tenant_id"`
	Valid    bool           `json:"valid"`
	Seals    int            `json:"seals"`
	Sealed   int            `json:"sealed"`
	Unsealed int            `json:"unsealed"`
	// Newest is the last seal; zero before the first one and in a broken chain.
	Newest SealHash `json:"newest_seal"`
	// Kept is the number of the seal that an operator had kept and that is still the same.
	Kept int64 `json:"kept_seal,omitempty"`
	// FirstBroken names the first row that is not what was sealed; Problem says how.
	FirstBroken string `json:"first_broken,omitempty"`
	Problem     string `json:"problem,omitempty"`
}

// SealHash names a seal and what it sums up: all events up to it. Whoever keeps one somewhere else can tell later whether
// the chain was computed anew.
type SealHash struct {
	No   int64  `json:"no"`
	Hash string `json:"hash"` // hexadecimal
}

// Verifier walks a chain seal by seal.
type Verifier struct {
	Report
	kept SealHash
	prev []byte
	upto string
	no   int64
}

// NewVerifier starts at the beginning of a tenant's chain. A chain that was computed anew is whole in itself: only a seal
// that was kept elsewhere tells. The zero value compares with none.
func NewVerifier(tenant authn.TenantID, kept SealHash) *Verifier {
	return &Verifier{Report: Report{Tenant: tenant, Valid: true}, kept: kept, upto: "0"}
}

// Check takes the next seal with the events that lie in its range, in order of (transaction, id). After the first problem
// it checks nothing more.
func (v *Verifier) Check(s StoredSeal, events []StoredEvent) {
	if !v.Valid {
		return
	}
	v.Seals++
	name := fmt.Sprintf("seal %d", s.No)
	switch {
	case s.No != v.no+1:
		v.broken(name, fmt.Sprintf("seal %d is missing", v.no+1))
	case s.From != v.upto || !bytes.Equal(s.Prev, v.prev):
		v.broken(name, "does not follow the seal before it")
	case int64(len(s.Leaves)) != s.N || !bytes.Equal(s.Digest(), s.StoredSum) || !bytes.Equal(s.Hash(), s.StoredHash):
		v.broken(name, "the seal or its leaves were changed")
	case s.No == v.kept.No && !strings.EqualFold(hex.EncodeToString(s.StoredHash), v.kept.Hash):
		v.broken(name, "its hash is not the one that was kept: the chain was computed anew")
	case s.No == v.kept.No:
		v.Kept = s.No
	}
	for i, l := range s.Leaves {
		if !v.Valid {
			return
		}
		switch {
		case i >= len(events) || events[i].ID != l.EventID && !contains(events, l.EventID):
			v.broken(l.EventID, "the event is missing")
		case events[i].ID != l.EventID:
			v.broken(events[i].ID, "the event was inserted after sealing")
		case !bytes.Equal(Leaf(events[i].Body), l.Hash):
			v.broken(l.EventID, "the event was changed")
		}
	}
	if v.Valid && len(events) > len(s.Leaves) {
		v.broken(events[len(s.Leaves)].ID, "the event was inserted after sealing")
	}
	v.no, v.upto, v.prev = s.No, s.Upto, s.StoredHash
	v.Sealed += len(s.Leaves)
}

// CheckRow compares an event's derived columns with its body.
func (v *Verifier) CheckRow(e StoredEvent, derived string) {
	if v.Valid && e.Columns != derived {
		v.broken(e.ID, "a column of the event does not agree with its body")
	}
}

// End is the report once all seals were checked.
func (v *Verifier) End() Report {
	if v.Valid && v.Kept != v.kept.No {
		v.broken(fmt.Sprintf("seal %d", v.kept.No), "the seal that was kept is missing")
	}
	if v.Valid && v.no > 0 {
		v.Newest = SealHash{No: v.no, Hash: hex.EncodeToString(v.prev)}
	}
	return v.Report
}

func (v *Verifier) broken(row, problem string) {
	v.Valid, v.FirstBroken, v.Problem = false, row, problem
}

func contains(events []StoredEvent, id string) bool {
	for _, e := range events {
		if e.ID == id {
			return true
		}
	}
	return false
}
