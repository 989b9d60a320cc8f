package mediacheck

import "github.com/mappy-dev/mappy-mcp/internal/errs"

var (
	tooLongURL         = errs.Tf("URL が長すぎます (最大 %d バイト)。", "The address is too long; the maximum is %d bytes.", maxURL)
	unreadableURL      = errs.T("URL として読めません。", "The address cannot be read.")
	unreadableEncoding = errs.T("画像のサーバーが圧縮した形でしか返しません。", "The image host answers in a compressed form only.")
)
