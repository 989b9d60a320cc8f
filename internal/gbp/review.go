package gbp

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// ReviewName is the v4 name "accounts/{a}/locations/{l}/reviews/{r}". The last part is opaque: a Places review id is not one,
// and Google has replaced all of them once.
type ReviewName string

// Account is the account of the name, or "" for a malformed name.
func (n ReviewName) Account() AccountName {
	a, _ := splitV4(string(n), "reviews")
	return a
}

// Location is the v1 name of the reviewed location, or "" for a malformed name.
func (n ReviewName) Location() LocationName {
	_, l := splitV4(string(n), "reviews")
	return l
}

// Valid tells whether the name is well-formed.
func (n ReviewName) Valid() bool { return n.Location() != "" }

// Google's states of a reply (reviewReplyState, since 2026-04). The set is open: an unknown state is kept as it came, and ""
// is an answer without a state.
const (
	ReplyPending  = "PENDING"
	ReplyRejected = "REJECTED"
	ReplyApproved = "APPROVED"
)

// RemoteReview is a review as Google returned it. Reviewer and Comment were written by strangers: text to show as a quotation
// and never to follow.
type RemoteReview struct {
	Name ReviewName
	// Reviewer is the display name, "" where Google gives none; Anonymous is Google's isAnonymous.
	Reviewer  string
	Anonymous bool
	// StarRating is 1 to 5, and 0 for a rating that this program does not know; its word is in Raw.
	StarRating int
	// Comment is "" for a review that is only a rating.
	Comment    string
	CreateTime time.Time
	UpdateTime time.Time
	// Reply is nil while nobody has answered.
	Reply *RemoteReply
	// Raw keeps every field, known or not.
	Raw json.RawMessage
}

// RemoteReply is the one answer that a review can have. Being accepted is not being public: State says which.
type RemoteReply struct {
	Comment    string
	UpdateTime time.Time
	// State is PENDING, REJECTED, APPROVED, a word that came later, or "".
	State string
	// PolicyViolation is why the reply was rejected, such as "ADVERTISING_AND_SOLICITATION"; an open set, "" otherwise.
	PolicyViolation string
}

// word reads an enum value. Google's JSON writes a value that it has no name for as its number.
type word string

// UnmarshalJSON takes a string or a number.
func (w *word) UnmarshalJSON(b []byte) error {
	var n json.Number
	if len(b) > 0 && b[0] != '"' && json.Unmarshal(b, &n) == nil {
		*w = word(n)
		return nil
	}
	return json.Unmarshal(b, (*string)(w))
}

type replyWire struct {
	Comment         string    `json:"comment"`
	UpdateTime      time.Time `json:"updateTime"`
	State           word      `json:"reviewReplyState"`
	PolicyViolation word      `json:"policyViolation"`
}

func (w *replyWire) reply() *RemoteReply {
	if w == nil || *w == (replyWire{}) { // {} is no reply
		return nil
	}
	return &RemoteReply{Comment: w.Comment, UpdateTime: w.UpdateTime, State: string(w.State), PolicyViolation: string(w.PolicyViolation)}
}

// ParseRemoteReview reads one review of Google's answer.
func ParseRemoteReview(raw json.RawMessage) (RemoteReview, error) {
	var w struct {
		Name     ReviewName `json:"name"`
		Reviewer struct {
			DisplayName string `json:"displayName"`
			IsAnonymous bool   `json:"isAnonymous"`
		} `json:"reviewer"`
		StarRating word       `json:"starRating"`
		Comment    string     `json:"comment"`
		CreateTime time.Time  `json:"createTime"`
		UpdateTime time.Time  `json:"updateTime"`
		Reply      *replyWire `json:"reviewReply"`
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		return RemoteReview{}, fmt.Errorf("review: %w", err)
	}
	if !w.Name.Valid() {
		return RemoteReview{}, fmt.Errorf("review: %q is not the name of a review", w.Name)
	}
	return RemoteReview{
		Name: w.Name, Reviewer: w.Reviewer.DisplayName, Anonymous: w.Reviewer.IsAnonymous, StarRating: stars(w.StarRating), Comment: w.Comment,
		CreateTime: w.CreateTime, UpdateTime: w.UpdateTime, Reply: w.Reply.reply(), Raw: append(json.RawMessage(nil), raw...),
	}, nil
}

var errNoReplyText = errors.New("reply: it has no text")

// ParseRemoteReply reads the answer to writing a reply. An answer without a text is an error: nothing says that there is a reply.
func ParseRemoteReply(raw json.RawMessage) (RemoteReply, error) {
	var w replyWire
	if err := json.Unmarshal(raw, &w); err != nil {
		return RemoteReply{}, fmt.Errorf("reply: %w", err)
	}
	if w.Comment == "" {
		return RemoteReply{}, errNoReplyText
	}
	return *w.reply(), nil
}

func stars(w word) int {
	switch w {
	case "ONE":
		return 1
	case "TWO":
		return 2
	case "THREE":
		return 3
	case "FOUR":
		return 4
	case "FIVE":
		return 5
	}
	return 0
}

// Version is the digest for expected_version: of everything that a person who answers has read, which is the review's text
// and rating and the reply that stands. Moderation of a reply does not change it, so a reply does not outdate itself.
func (r RemoteReview) Version() string {
	f := struct {
		Stars    int
		Word     json.RawMessage `json:",omitempty"` // of an unknown rating
		Comment  string
		Replied  bool
		Response string
	}{Stars: r.StarRating, Comment: foldText(r.Comment)}
	if r.StarRating == 0 {
		var w struct {
			StarRating json.RawMessage `json:"starRating"`
		}
		if json.Unmarshal(r.Raw, &w) == nil {
			f.Word = w.StarRating
		}
	}
	if r.Reply != nil {
		f.Replied, f.Response = true, foldText(r.Reply.Comment)
	}
	b, err := json.Marshal(f)
	if err != nil {
		panic("gbp: a version always marshals: " + err.Error())
	}
	h := sha256.Sum256(b)
	return fmt.Sprintf("%x", h[:16])
}

// Says tells whether the reply that stands is this text, as Google may give it back: spelling of line ends and outer white
// space do not count.
func (r RemoteReview) Says(comment string) bool {
	return r.Reply != nil && foldText(r.Reply.Comment) == foldText(comment)
}

// ReplyBody is the body of Google's updateReply, byte for byte as it is stored, shown and sent.
func ReplyBody(comment string) []byte {
	return encode(struct {
		Comment string `json:"comment"`
	}{comment})
}
