"""What the documentation site makes of the package itself, and what its pages may load.

MkDocs calls `on_files` (mkdocs.yml names this file as a hook), so the pages of the command line and of the HTTP API are
made again whenever the site is built. `python .ci/site.py SITE` looks at a built site: nothing in it may be loaded from
another host.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made from the package."""
    for path, text in (("reference/cli.md", command_line()), ("reference/http.md", http_api())):
        files.append(File.generated(config, path, content=text))
    return files


def command_line() -> str:
    """Every command with its arguments and options, as `--help` has them."""
    from typer.main import get_command

    from headgate.cli.app import COMMANDS, app

    root: Any = get_command(app)
    page = ["# Command line", "", _plain(root.help), ""]
    page += ["Generated from the commands themselves; `headgate COMMAND --help` says the same.", ""]
    for name in COMMANDS:
        page += _command(f"headgate {name}", root.get_command(None, name), 2)
    return "\n".join(page)


def _command(name: str, command: Any, level: int) -> Iterator[str]:
    yield from (f"{'#' * level} {name}", "", _plain(command.help or ""), "")
    for below, inner in getattr(command, "commands", {}).items():
        yield from _command(f"{name} {below}", inner, level + 1)
    said = (
        [p for p in command.params if not p.hidden and "--help" not in p.opts] if level == 2 or command.params else []
    )
    if said and not hasattr(command, "commands"):
        yield from ("| | | default |", "|---|---|---|")
        for parameter in said:
            names = ", ".join(f"`{one}`" for one in (*parameter.opts, *parameter.secondary_opts))
            shown = getattr(parameter, "metavar", None) or parameter.name.upper()
            names = names if parameter.param_type_name == "option" else f"`{shown}`"
            default = parameter.default
            if default is None or callable(default) or default is False or "Sentinel" in repr(type(default)):
                default = ""
            yield f"| {names} | {_cell(parameter.help or '')} | {f'`{_cell(str(default))}`' if default != '' else ''} |"
        yield ""


def _plain(text: str) -> str:
    """Rich's markup as Markdown, example commands as a block."""
    out: list[str] = []
    for paragraph in re.split(r"\n\s*\n", re.sub(r"\[(/?)bold\]", "**", text).replace("\b", "")):
        lines = [line.strip() for line in paragraph.strip().splitlines()]
        if lines and all(line.startswith(("headgate ", "curl ")) or not line for line in lines):
            out += ["```sh", *lines, "```", ""]
        elif lines:
            out += [" ".join(lines).replace("<", "&lt;"), ""]
    return "\n".join(out)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def http_api() -> str:
    """Every path of the service with its parameters, body and answers, from its OpenAPI description."""
    from headgate.service.settings import Settings
    from headgate.service.web.app import create_app

    schema = create_app(Settings("sqlite://", keys=False)).openapi()
    page = ["# HTTP API", "", _prose(schema["info"].get("description", "")), ""]
    page += [
        "Generated from the service's OpenAPI description, which a running service has at `/openapi.json` and `/docs`.",
        "",
    ]
    for path, verbs in schema["paths"].items():
        for verb, what in verbs.items():
            if isinstance(what, dict) and "responses" in what:
                page += _operation(path, verb, what, schema)
    page += ["## Bodies and answers", ""]
    for name, shape in sorted(schema.get("components", {}).get("schemas", {}).items()):
        page += _shape(name, shape)
    return "\n".join(page)


def _operation(path: str, verb: str, what: dict[str, Any], schema: dict[str, Any]) -> Iterator[str]:
    yield from (f"## {verb.upper()} {path}", "", _prose(what.get("description") or what.get("summary", "")), "")
    parameters = [_resolved(one, schema) for one in what.get("parameters", ())]
    if parameters:
        yield from ("| parameter | in | |", "|---|---|---|")
        for one in parameters:
            yield f"| `{one['name']}` | {one['in']} | {_cell(one.get('description', ''))} |"
        yield ""
    for kind, body in what.get("requestBody", {}).get("content", {}).items():
        yield from (f"Body (`{kind}`): {_type(body.get('schema', {}))}", "")
        examples = [one.get("value") for one in body.get("examples", {}).values()]
        for example in examples[:1] or ([body["example"]] if "example" in body else []):
            yield from ("```json", json.dumps(example, indent=2), "```", "")
    answers = ", ".join(
        f"{status} {_resolved(answer, schema).get('description', '').rstrip('.')}"
        for status, answer in what["responses"].items()
    )
    yield from (f"Answers: {answers}.", "")


def _resolved(part: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """What a reference stands for."""
    if "$ref" not in part:
        return part
    found: Any = schema
    for step in part["$ref"].removeprefix("#/").split("/"):
        found = found[step]
    return dict(found)


def _shape(name: str, shape: dict[str, Any]) -> Iterator[str]:
    yield from (f"### {name}", "", _prose(shape.get("description", "")), "")
    if "properties" in shape:
        yield from ("| field | type | |", "|---|---|---|")
        for field, what in shape["properties"].items():
            needed = " (required)" if field in shape.get("required", ()) else ""
            yield f"| `{field}`{needed} | {_type(what)} | {_cell(what.get('description', ''))} |"
        yield ""


def _type(what: dict[str, Any]) -> str:
    if "$ref" in what:
        name = what["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{re.sub(r'[^a-z0-9_-]', '', name.lower())})"
    for joined in ("anyOf", "oneOf", "allOf"):
        if joined in what:
            return " or ".join(_type(one) for one in what[joined])
    if what.get("type") == "array":
        return f"list of {_type(what.get('items', {}))}"
    if "const" in what or "enum" in what:
        return " or ".join(f"`{json.dumps(one)}`" for one in what.get("enum", [what.get("const")]))
    kind = what.get("type", "anything")
    return str(kind if isinstance(kind, str) else " or ".join(kind))


def _prose(text: str) -> str:
    return text.strip().replace("<", "&lt;")


# What a browser loads by itself: sources, style sheets and icons, and addresses in style sheets; no links to click on.
_LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*?\b(?:src|data)=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|<link\b(?![^>]*\brel=["']?(?:canonical|next|prev)\b)[^>]*?\bhref=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|url\(\s*["']?((?:https?:)?//[^"')\s]+)|@import\s+["']((?:https?:)?//[^"']+)""",
    re.IGNORECASE,
)


def loaded_from_elsewhere(site: Path) -> list[str]:
    """Return what pages and style sheets of a built site would load from other hosts, with the file that says so."""
    return [
        f"{path.relative_to(site)}: {next(filter(None, found.groups()))}"
        for path in sorted([*site.rglob("*.html"), *site.rglob("*.css")])
        for found in _LOADED.finditer(path.read_text(encoding="utf-8"))
    ]


if __name__ == "__main__":
    if not (Path(sys.argv[1]) / "index.html").exists():
        sys.exit(f"{sys.argv[1]} has no built site")
    if elsewhere := loaded_from_elsewhere(Path(sys.argv[1])):
        sys.exit("loaded from elsewhere:\n" + "\n".join(elsewhere))
