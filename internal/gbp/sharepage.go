package gbp

import (
	"net/url"
	"slices"
	"strings"
)

// SharePage recognises links that open a viewer for people instead of the file: Google Drive, Docs and Photos, Dropbox,
// OneDrive and SharePoint, iCloud, Box. Addresses of the same services that give the file itself are not among them. Such a
// link is never rewritten: what is published is what was given.
func SharePage(u *url.URL) bool {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	q := u.Query()
	switch host {
	case "drive.google.com", "docs.google.com":
		return !strings.HasPrefix(u.Path, "/uc")
	case "onedrive.live.com":
		return !strings.HasPrefix(u.Path, "/download")
	case "dropbox.com", "www.dropbox.com":
		return q.Get("dl") != "1" && q.Get("raw") != "1"
	case "box.com", "www.box.com", "app.box.com":
		return !strings.HasPrefix(u.Path, "/shared/static/")
	}
	if strings.HasSuffix(host, ".sharepoint.com") {
		return q.Get("download") != "1"
	}
	return slices.Contains([]string{
		"photos.google.com", "photos.app.goo.gl", "1drv.ms", "icloud.com", "www.icloud.com", "share.icloud.com",
	}, host)
}
