package lsp

// The parts of the Language Server Protocol 3.17 that are used, by its names.
type (
	initializeParams struct {
		Capabilities struct {
			General struct {
				PositionEncodings []string `json:"positionEncodings"`
			} `json:"general"`
			TextDocument struct {
				Completion struct {
					CompletionItem struct {
						SnippetSupport bool `json:"snippetSupport"`
					} `json:"completionItem"`
				} `json:"completion"`
			} `json:"textDocument"`
		} `json:"capabilities"`
	}
	initializeResult struct {
		Capabilities serverCapabilities `json:"capabilities"`
		ServerInfo   serverInfo         `json:"serverInfo"`
	}
	serverInfo struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	serverCapabilities struct {
		PositionEncoding           string            `json:"positionEncoding"`
		TextDocumentSync           syncOptions       `json:"textDocumentSync"`
		CompletionProvider         completionOptions `json:"completionProvider"`
		HoverProvider              bool              `json:"hoverProvider"`
		DefinitionProvider         bool              `json:"definitionProvider"`
		DocumentFormattingProvider bool              `json:"documentFormattingProvider"`
		DocumentSymbolProvider     bool              `json:"documentSymbolProvider"`
		CodeActionProvider         codeActionOptions `json:"codeActionProvider"`
	}
	syncOptions struct {
		OpenClose bool `json:"openClose"`
		Change    int  `json:"change"`
		Save      bool `json:"save"`
	}
	completionOptions struct {
		TriggerCharacters []string `json:"triggerCharacters"`
	}
	codeActionOptions struct {
		Kinds []string `json:"codeActionKinds"`
	}

	position struct {
		Line      int `json:"line"`      // from 0
		Character int `json:"character"` // from 0, in UTF-16 code units or bytes
	}
	span struct {
		Start position `json:"start"`
		End   position `json:"end"`
	}
	location struct {
		URI   string `json:"uri"`
		Range span   `json:"range"`
	}
	textEdit struct {
		Range   span   `json:"range"`
		NewText string `json:"newText"`
	}

	documentID struct {
		URI string `json:"uri"`
	}
	documentParams struct {
		TextDocument documentID `json:"textDocument"`
	}
	positionParams struct {
		TextDocument documentID `json:"textDocument"`
		Position     position   `json:"position"`
	}
	didOpenParams struct {
		TextDocument struct {
			URI     string `json:"uri"`
			Version int    `json:"version"`
			Text    string `json:"text"`
		} `json:"textDocument"`
	}
	didChangeParams struct {
		TextDocument struct {
			URI     string `json:"uri"`
			Version int    `json:"version"`
		} `json:"textDocument"`
		ContentChanges []struct {
			Range *span  `json:"range"`
			Text  string `json:"text"`
		} `json:"contentChanges"`
	}

	publishDiagnosticsParams struct {
		URI         string       `json:"uri"`
		Version     *int         `json:"version,omitempty"`
		Diagnostics []diagnostic `json:"diagnostics"`
	}
	diagnostic struct {
		Range           span             `json:"range"`
		Severity        int              `json:"severity"`
		Code            string           `json:"code"`
		CodeDescription *codeDescription `json:"codeDescription,omitempty"`
		Source          string           `json:"source"`
		Message         string           `json:"message"`
	}
	codeDescription struct {
		Href string `json:"href"`
	}

	completionList struct {
		IsIncomplete bool             `json:"isIncomplete"`
		Items        []completionItem `json:"items"`
	}
	completionItem struct {
		Label            string         `json:"label"`
		Kind             int            `json:"kind"`
		Detail           string         `json:"detail,omitempty"`
		Documentation    *markupContent `json:"documentation,omitempty"`
		SortText         string         `json:"sortText,omitempty"`
		InsertTextFormat int            `json:"insertTextFormat,omitempty"`
		TextEdit         *textEdit      `json:"textEdit,omitempty"`
	}
	markupContent struct {
		Kind  string `json:"kind"`
		Value string `json:"value"`
	}
	hoverResult struct {
		Contents markupContent `json:"contents"`
		Range    span          `json:"range"`
	}

	codeActionParams struct {
		TextDocument documentID `json:"textDocument"`
		Range        span       `json:"range"`
		Context      struct {
			Only []string `json:"only"`
		} `json:"context"`
	}
	codeAction struct {
		Title       string        `json:"title"`
		Kind        string        `json:"kind"`
		Diagnostics []diagnostic  `json:"diagnostics,omitempty"`
		IsPreferred bool          `json:"isPreferred,omitempty"`
		Edit        workspaceEdit `json:"edit"`
	}
	workspaceEdit struct {
		Changes map[string][]textEdit `json:"changes"`
	}

	documentSymbol struct {
		Name           string           `json:"name"`
		Detail         string           `json:"detail,omitempty"`
		Kind           int              `json:"kind"`
		Range          span             `json:"range"`
		SelectionRange span             `json:"selectionRange"`
		Children       []documentSymbol `json:"children,omitempty"`
	}
)

// Values of the protocol.
const (
	syncFull = 1

	severityError       = 1
	severityWarning     = 2
	severityInformation = 3

	itemField      = 5
	itemModule     = 9
	itemProperty   = 10
	itemValue      = 12
	itemFile       = 17
	itemEnumMember = 20

	symbolField  = 8
	symbolObject = 19

	formatSnippet = 2

	kindQuickFix = "quickfix"
	kindFixAll   = "source.fixAll"
)
