// Package profile is the one place where the contract's words for store data meet Google's shape (Business Information v1):
// it reads a profile into words (ReadView), turns a change in words into the exact body and update mask of one PATCH
// (Apply), and finds the PATCH that goes back (Inverse). It does no I/O and knows no store but the one it is given.
//
// What a list under a field means, decided once:
//
//   - regular_hours: a plain list changes exactly the days that it names; all other days stay ("set Monday to 10-16" must not
//     drop the rest of the week); {"change":[…]} says the same beside other operations. {"add":[…]} adds periods to days, {"remove":["monday"]} closes days, {"set":[…]} replaces the
//     whole week.
//   - special_hours: the same by date; more_hours: the same by hours_type and, inside a type, by day.
//   - attributes: the same by attribute name.
//   - phone_numbers.additional, categories.additional and labels: a plain list or {"set":[…]} replaces the list, {"add":[…]}
//     and {"remove":[…]} change it. phone_numbers.primary alone keeps the additional numbers, categories.primary alone the
//     additional categories.
//   - An empty list never empties a field. {"remove":[…]} may, because it names what goes (except the whole week), and
//     clear: ["website_url"] does.
//
// How times are read: HH:MM, close up to 24:00. A close at or before the open runs past midnight into the next day, Sunday into
// Monday; therefore 00:00-00:00 and 09:00-09:00 are 24 hours (with a warning OPENS_24_HOURS), and a close of 00:00 is the midnight
// that ends the day, sent as 24:00. open_24h is 00:00-24:00. Hours such as 26:00 are refused.
//
// Google replaces regularHours, specialHours, moreHours, phoneNumbers, categories, openInfo, profile and labels whole, so a
// change of one part is read-modify-write and a mask never names a part. Members inside those objects that this package does not
// know survive, except members that Google documents as output only. A mask entry without a value in the body, which empties
// the field at Google, comes only from clear, from a remove of everything, or from Inverse.
package profile
