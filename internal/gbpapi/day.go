package gbpapi

import "time"

// number counts days from 1970-01-01.
func (d Day) number() int {
	return int(time.Date(d.Year, time.Month(d.Month), d.Day, 0, 0, 0, 0, time.UTC).Unix() / (24 * 60 * 60))
}
