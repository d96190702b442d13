"""Drives the language server with the client of pygls, which checks every message against the types
of the protocol. Prints one line per step; the Go test compares them with a golden file.

Usage: client.py SERVER MODELS
"""
import asyncio
import pathlib
import re
import sys

from lsprotocol import types as t
from pygls.lsp.client import LanguageClient

server, models = sys.argv[1], pathlib.Path(sys.argv[2])


def uri(name):
    return (models / name / "config.pbtxt").as_uri()


class Client(LanguageClient):
    def __init__(self):
        super().__init__("test", "1")
        self.found = asyncio.Queue()

        @self.feature(t.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def _(params):
            self.found.put_nowait(params)

    async def diagnostics(self, name, version=None):
        """The next findings about a file, of a version of its text."""
        while True:
            p = await asyncio.wait_for(self.found.get(), 30)
            if p.uri == uri(name) and p.version == version:
                return p.diagnostics


def show(step, *words):
    print(f"{step}:", *words)


def place(text, marker="|"):
    """The text without the marker, and its position."""
    before = text[: text.index(marker)]
    line = before.count("\n")
    return text.replace(marker, "", 1), t.Position(line, len(before.split("\n")[-1].encode("utf-16-le")) // 2)


def apply(text, edits):
    """The text after edits; there is at most one here."""
    lines = text.split("\n")

    def offset(p):
        return sum(len(line) + 1 for line in lines[: p.line]) + len(
            lines[p.line].encode("utf-16-le")[: p.character * 2].decode("utf-16-le")
        )

    for e in edits:
        text = text[: offset(e.range.start)] + e.new_text + text[offset(e.range.end) :]
    return text


def range_of(r):
    return f"{r.start.line}:{r.start.character}-{r.end.line}:{r.end.character}"


async def main():
    c = Client()
    await c.start_io(server)
    result = await c.initialize_async(
        t.InitializeParams(
            capabilities=t.ClientCapabilities(
                text_document=t.TextDocumentClientCapabilities(
                    completion=t.CompletionClientCapabilities(
                        completion_item=t.ClientCompletionItemOptions(snippet_support=True)
                    )
                )
            )
        )
    )
    show("server", result.server_info.name, result.capabilities.position_encoding)
    c.initialized(t.InitializedParams())

    # Findings of the text that is open, not of the file.
    version = 0

    async def write(name, text):
        nonlocal version
        version += 1
        if version == 1 or name not in opened:
            opened.add(name)
            c.text_document_did_open(t.DidOpenTextDocumentParams(t.TextDocumentItem(uri(name), "pbtxt", version, text)))
        else:
            c.text_document_did_change(
                t.DidChangeTextDocumentParams(
                    t.VersionedTextDocumentIdentifier(version, uri(name)),
                    [t.TextDocumentContentChangeWholeDocument(text)],
                )
            )
        return await c.diagnostics(name, version)

    opened = set()

    def findings(step, list):
        for d in list:
            show(step, range_of(d.range), d.severity.name, d.code, repr(d.message), d.code_description.href)
        if not list:
            show(step, "none")

    text = '# gr\u00f6\u00dfe \U0001f600\nbackend: "identity"  \ninput { name: "\U0001f600" data_type: FP32 dims: [ 4 ] }\nmax_batch_sze: 8\n'
    findings("wrong", await write("plain", text))

    # Corrections of one finding, and all of them.
    actions = await c.text_document_code_action_async(
        t.CodeActionParams(
            t.TextDocumentIdentifier(uri("plain")),
            t.Range(t.Position(3, 2), t.Position(3, 2)),
            t.CodeActionContext([]),
        )
    )
    for a in actions:
        show("action", a.kind, a.title)
        print(apply(text, a.edit.changes[uri("plain")]), end="")
    text = apply(text, actions[-1].edit.changes[uri("plain")])
    findings("corrected", await write("plain", text))
    actions = await c.text_document_code_action_async(
        t.CodeActionParams(
            t.TextDocumentIdentifier(uri("plain")),
            t.Range(t.Position(0, 0), t.Position(9, 0)),
            t.CodeActionContext([], only=[t.CodeActionKind.SourceFixAll]),
        )
    )
    show("nothing to correct", actions)

    # A finding that is accepted by a comment.
    text = 'backend: "identity"\ndynamic_batching { }\n'
    findings("warning", await write("plain", text))
    actions = await c.text_document_code_action_async(
        t.CodeActionParams(
            t.TextDocumentIdentifier(uri("plain")),
            t.Range(t.Position(1, 0), t.Position(1, 0)),
            t.CodeActionContext([], only=[t.CodeActionKind.QuickFix]),
        )
    )
    show("accept", [a.title for a in actions])
    findings("accepted", await write("plain", apply(text, actions[0].edit.changes[uri("plain")])))

    # Formatting.
    async def formatted(step, text):
        await write("plain", text)
        edits = await c.text_document_formatting_async(
            t.DocumentFormattingParams(t.TextDocumentIdentifier(uri("plain")), t.FormattingOptions(2, True))
        )
        if edits is None:
            show(step, "no answer")
            return
        show(step, [range_of(e.range) for e in edits])
        print(apply(text, edits), end="")

    await formatted("format", '# a\nname:"plain"\nbackend : "identity"  # in Go\ninput{name:"X"}\nmax_batch_size: 1\n')
    await formatted("formatted", 'backend: "identity"\n')
    await formatted("not formatted", "nothing like it {")

    # Completion.
    async def complete(step, name, marked, most=6):
        text, at = place(marked)
        await write(name, text)
        found = await c.text_document_completion_async(
            t.CompletionParams(t.TextDocumentIdentifier(uri(name)), at)
        )
        word = re.search(r"\w*$", marked[: marked.index("|")])[0]  # editors filter by what is written
        items = [i for i in found.items if i.label.startswith(word)]
        show(step, len(found.items), [i.label for i in items][:most])
        if items and items[0].text_edit:
            print(repr(apply(text, [items[0].text_edit])))
        return items

    items = await complete("field", "plain", 'backend: "identity"\ndyn|')
    show("documented", items[0].detail, "|", items[0].documentation.value.replace("\n", " "))
    await complete("field in a message", "plain", "dynamic_batching {\n  pref|\n}\n")
    await complete("field of a oneof", "plain", "dynamic_batching { }\nse|", 2)
    await complete("enumeration", "plain", "instance_group { kind: |")
    await complete("in a list", "plain", "input [ { name: \"X\" data_type: TYPE_F| dims: [ 1 ] } ]")
    await complete("boolean", "plain", "response_cache { enable: |}")
    await complete("backend", "plain", 'backend: "onnx|"')
    await complete("file", "plain", 'output { label_filename: "|" }')
    await complete("tensor of the graph", "graph", 'input { name: "|" }')
    await complete("output of the graph", "graph", "output { name: |")
    await complete("name of the directory", "plain", "name: |")
    await complete("comment", "plain", "# dyn|")
    await complete("closed string", "plain", 'backend: "python"|')
    await complete("number", "plain", "max_batch_size: |")
    await write("graph", "max_batch_size: 8\ndynamic_batching { }\n")
    step = 'platform: "ensemble"\ninput { name: "DATA" }\noutput { name: "RESULT" }\nensemble_scheduling {\n  step {\n    '
    await complete("model", "pipeline", step + 'model_name: "|"')
    await complete("input of the model", "pipeline", step + 'model_name: "graph" input_map { key: "|" }')
    await complete("output of the model", "pipeline", step + 'model_name: "graph" output_map { key: "|" value: "RESULT" }')
    await complete("tensor of the ensemble", "pipeline", step + 'model_name: "graph" input_map { key: "INPUT0" value: "|" }')

    # Hover.
    async def hover(step, marked):
        text, at = place(marked)
        await write("plain", text)
        found = await c.text_document_hover_async(t.HoverParams(t.TextDocumentIdentifier(uri("plain")), at))
        show(step, range_of(found.range) + " " + found.contents.value.replace("\n", " ") if found else None)

    await hover("hover", "max_bat|ch_size: 8")
    await hover("hover of a sequence", "max_bat|ch_size: 8 sequence_batching { }")
    await hover("hover on a value", "instance_group [ { kind: KIND_|CPU } ]")
    await hover("hover on nothing", "# max_batch_size|\n")

    # The models of an ensemble.
    text, at = place((models / "pipeline" / "config.pbtxt").read_text().replace('"graph"', '"gra|ph"', 1))
    findings("ensemble", await write("pipeline", text))
    found = await c.text_document_definition_async(t.DefinitionParams(t.TextDocumentIdentifier(uri("pipeline")), at))
    show("definition", found.uri == uri("graph"), range_of(found.range))
    symbols = await c.text_document_document_symbol_async(t.DocumentSymbolParams(t.TextDocumentIdentifier(uri("pipeline"))))
    show("outline", [(s.name, s.detail, len(s.children or [])) for s in symbols])

    # A change of one open document is seen by the other.
    pipeline = version
    text = (
        'input [ { name: "OTHER" data_type: TYPE_INT32 dims: [ 16 ] }, { name: "INPUT1" data_type: TYPE_INT32 dims: [ 16 ] } ]\n'
        'output [ { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 16 ] }, { name: "OUTPUT1" data_type: TYPE_INT32 dims: [ 16 ] } ]\n'
    )
    findings("graph", await write("graph", text))
    findings("ensemble again", await c.diagnostics("pipeline", pipeline))

    # The end of a document takes its findings away.
    c.text_document_did_close(t.DidCloseTextDocumentParams(t.TextDocumentIdentifier(uri("graph"))))
    findings("closed", await c.diagnostics("graph"))

    # Requests that cannot be answered are errors, and the server goes on.
    try:
        await c.text_document_hover_async(
            t.HoverParams(t.TextDocumentIdentifier("file:///not/open"), t.Position(0, 0))
        )
    except Exception as e:
        show("error", e)
    try:
        await c.protocol.send_request_async("triton/unknown", {})
    except Exception as e:
        show("error", e)

    await c.shutdown_async(None)
    c.exit(None)
    await asyncio.wait_for(c._server.wait(), 30)
    show("exit", c._server.returncode)


asyncio.run(main())
