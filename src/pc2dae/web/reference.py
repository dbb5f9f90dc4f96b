"""The API documentation as one HTML page without scripts or external resources."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from fastapi.responses import HTMLResponse

_STYLE = "/static/docs.css"


def reference(schema: dict[str, Any]) -> HTMLResponse:
    """A page for an OpenAPI description."""
    info = schema["info"]
    parts = [f"<h1>{escape(info['title'])} <small>{escape(info['version'])}</small></h1>",
             f"<p>{escape(info.get('description', ''))} Machine-readable: <a href='/openapi.json'>/openapi.json</a>. "
             "An error is <code>{&quot;error&quot;: …, &quot;hint&quot;: …}</code>. Every GET also answers HEAD.</p>",
             *_security(schema)]  # fmt: skip
    groups: dict[str, list[str]] = {}
    for path, operations in schema["paths"].items():
        for verb, operation in operations.items():
            groups.setdefault((operation.get("tags") or ["other"])[0], []).append(_operation(verb, path, operation))
    for name, items in groups.items():
        parts += [f"<h2>{escape(name)}</h2>", *items]
    parts += ["<h2>models</h2>", *(_model(n, m) for n, m in schema.get("components", {}).get("schemas", {}).items())]
    head = "<meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
    head += f"<title>{escape(info['title'])}</title>"
    return HTMLResponse(
        f"<!doctype html><html lang='en'><head>{head}<link rel='stylesheet' href='{_STYLE}'></head>"
        f"<body><main>{''.join(parts)}</main></body></html>"
    )


def _security(schema: dict[str, Any]) -> list[str]:
    schemes = schema.get("components", {}).get("securitySchemes", {})
    if not schemes:
        return ["<p>No token is required: this server answers this machine only.</p>"]
    rows = []
    for name, scheme in schemes.items():
        is_bearer = scheme["type"] == "http"
        shown = "Authorization: Bearer …" if is_bearer else f"Cookie: {scheme['name']}=…"
        rows.append(f"<tr><td><code>{escape(name)}</code></td><td><code>{escape(shown)}</code></td>"
                    f"<td>{escape(scheme['description'])}</td></tr>")  # fmt: skip
    return ["<h2>security</h2><p>Each request needs one of:</p>", f"<table>{''.join(rows)}</table>"]


def _example(kind: str, data: Any) -> str:
    text = data if isinstance(data, str) else json.dumps(data, indent=1, ensure_ascii=False)
    return f"<h4>{kind}</h4><pre tabindex='0'>{escape(text)}</pre>"


def _operation(verb: str, path: str, operation: dict[str, Any]) -> str:
    rows = [
        f"<tr><td><code>{escape(p['name'])}</code></td><td>{escape(p['in'])}{' *' if p.get('required') else ''}</td>"
        f"<td>{_kind(p.get('schema', {}))}</td><td>{escape(p.get('description', ''))}</td></tr>"
        for p in operation.get("parameters", [])
    ]
    for kind, body in operation.get("requestBody", {}).get("content", {}).items():
        rows.append(f"<tr><td>body</td><td>{escape(kind)}</td><td>{_kind(body.get('schema', {}))}</td><td></td></tr>")
    answers = []
    for status, answer in operation.get("responses", {}).items():
        shown = [_kind(c["schema"]) for c in answer.get("content", {}).values() if c.get("schema")]
        answers.append(f"<li><b>{escape(status)}</b> {escape(answer.get('description', ''))} {' '.join(shown)}</li>")
    table = f"<table>{''.join(rows)}</table>" if rows else ""
    name = escape(operation["operationId"])
    return (
        f"<details id='{name}'><summary><b class='{escape(verb)}'>{escape(verb.upper())}</b> "
        f"<code>{escape(path)}</code> <span>{escape(operation.get('description', ''))}</span></summary>"
        f"<p>Operation <code>{name}</code></p>{table}<ul>{''.join(answers)}</ul>{_examples(operation)}</details>"
    )


def _examples(operation: dict[str, Any]) -> str:
    """Request and successful response, where an example is known."""
    asked = operation.get("requestBody", {}).get("content", {}).values()
    done = [c for s, r in operation["responses"].items() if s.startswith("2") for c in r.get("content", {}).values()]
    parts = [_example("request", c["example"]) for c in asked if "example" in c]
    return "".join(parts + [_example("response", c["example"]) for c in done if "example" in c])


def _kind(schema: dict[str, Any]) -> str:
    """A short description of a schema; models are linked."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f"<a href='#{name}'>{name}</a>"
    if "anyOf" in schema:
        return " or ".join(_kind(s) for s in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    if "enum" in schema:
        return escape(", ".join(json.dumps(v) for v in schema["enum"]))
    limits = [f"{sign} {schema[key]:g}" for key, sign in (("minimum", "≥"), ("maximum", "≤")) if key in schema]
    return escape(" ".join([str(schema.get("type", "anything")), *limits]))


def _model(name: str, model: dict[str, Any]) -> str:
    needed = model.get("required", [])
    rows = [
        f"<tr><td><code>{escape(key)}</code>{' *' if key in needed else ''}</td><td>{_kind(value)}</td>"
        f"<td>{escape(value.get('description', ''))}</td></tr>"
        for key, value in model.get("properties", {}).items()
    ]
    return (
        f"<details id='{escape(name)}' open><summary><code>{escape(name)}</code> "
        f"<span>{escape(model.get('description', ''))}</span></summary><table>{''.join(rows)}</table></details>"
    )
