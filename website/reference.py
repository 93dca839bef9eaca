"""The reference: every public name with its signature, types and docstring, and the commands with their help."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from functools import cached_property
from types import ModuleType
from typing import Any

import click

import rectilinear as rl
from rectilinear import plugins, reproduce, studies
from rectilinear.cli import main
from writing import docstring

MODULES: dict[str, ModuleType] = {
    "rectilinear": rl,
    "rectilinear.datasets": rl.datasets,
    "rectilinear.conditions": rl.conditions,
    "rectilinear.theorems": rl.theorems,
    "rectilinear.measures": rl.measures,
    "rectilinear.plots": rl.plots,
    "rectilinear.report": rl.report,
    "rectilinear.reproduce": reproduce,
    "rectilinear.studies": studies,
    "rectilinear.plugins": plugins,
}
TITLES = {"rectilinear": "The package", "rectilinear.plugins": "Other packages"}


def pages() -> Iterator[tuple[str, str]]:
    """(path, text) of every page of the reference."""
    seen: set[int] = set()
    for name, module in MODULES.items():
        yield f"reference/{name}.md", _module(name, module, seen)
    yield "reference/command_line.md", _command_line()


def public_names(module: ModuleType) -> list[str]:
    """What a module offers."""
    if hasattr(module, "__all__"):
        return [name for name in module.__all__ if not inspect.ismodule(getattr(module, name))]
    return [
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", "") == module.__name__ and name[0] != "_"
    ]


def _module(name: str, module: ModuleType, seen: set[int]) -> str:
    parts = [f"# {name}", docstring(module.__doc__)]
    for member in public_names(module):
        thing = getattr(module, member)
        if id(thing) in seen and callable(thing):
            continue  # shown where it is called from, in the package itself
        seen.add(id(thing))
        parts += [_entry(name, member, thing)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _entry(module: str, name: str, thing: Any) -> str:
    heading = f"## {name}"
    if inspect.isclass(thing):
        return f"{heading}\n\n{_class(module, name, thing)}"
    if callable(thing):
        return f"{heading}\n\n{_directive('function', f'{name}{_signature(thing)}', module, docstring(thing.__doc__))}"
    return f"{heading}\n\n{_directive('data', name, module, _constant(thing))}"


def _class(module: str, name: str, thing: type) -> str:
    parts = [docstring(thing.__doc__)]
    if issubclass(thing, Enum):
        parts += [_directive("attribute", f"{name}.{member.name}", module, "", type=f"{member.value!r}") for member in thing]
        return _directive("class", name, module, "\n\n".join(parts), colons=5)
    for member, value in vars(thing).items():
        if member.startswith("_") or not getattr(value, "__doc__", None):
            continue
        if isinstance(value, property | cached_property):
            function = value.fget if isinstance(value, property) else value.func
            returned = inspect.signature(function).return_annotation if function else ""
            parts.append(_directive("property", f"{name}.{member}", module, docstring(value.__doc__), type=str(returned)))
        elif isinstance(value, classmethod | staticmethod):
            kind = {type(value).__name__: ""}
            parts.append(_method(module, name, member, value.__func__, **kind))
        elif inspect.isfunction(value):
            parts.append(_method(module, name, member, value))
    signature = "" if issubclass(thing, BaseException) else _signature(thing)
    return _directive("class", f"{name}{signature}", module, "\n\n".join(parts), colons=5)


def _method(module: str, owner: str, name: str, function: Any, **kind: str) -> str:
    signature = re.sub(r"^\((self|cls)(, )?", "(", _signature(function))
    return _directive("method", f"{owner}.{name}{signature}", module, docstring(function.__doc__), **kind)


def _directive(kind: str, head: str, module: str, body: str, colons: int = 4, **options: str) -> str:
    fence = ":" * colons
    listed = "".join(f":{name}: {value}".rstrip() + "\n" for name, value in {"module": module, **options}.items())
    return f"{fence}{{py:{kind}}} {head}\n{listed}\n{body}\n{fence}"


def _signature(thing: Any) -> str:
    """The signature in one line, without addresses of functions and places of files."""
    try:
        written = inspect.signature(thing)
    except ValueError:
        return "()"
    kept = [
        parameter.replace(
            default=_Shown("...") if _opaque(parameter.default) else parameter.default,
            annotation=_plain(parameter.annotation),
        )
        for parameter in written.parameters.values()
    ]
    returned = inspect.Signature.empty if inspect.isclass(thing) else _plain(written.return_annotation)
    return str(written.replace(parameters=kept, return_annotation=returned))


class _Shown:
    """Something that is written as this text, without quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _plain(annotation: Any) -> Any:
    return _Shown(annotation) if isinstance(annotation, str) else annotation


def _opaque(default: Any) -> bool:
    return default is not inspect.Parameter.empty and bool(re.search("<|PosixPath|WindowsPath", repr(default)))


def _constant(thing: Any) -> str:
    if isinstance(thing, dict):
        if all(isinstance(value, str) for value in thing.values()):
            return "\n".join(f"- `{key}`: {value}" for key, value in thing.items())
        return ", ".join(f"`{key}`" for key in thing)
    if isinstance(thing, tuple | list):
        return ", ".join(f"`{getattr(item, 'name', item)}`" for item in thing)
    return f"`{thing!r}`"


def _command_line() -> str:
    parts = ["# The command line", "Every command answers `--help`; this is what they say."]
    context = click.Context(main, info_name="rectilinear", max_content_width=100)
    for name, command in sorted(main.commands.items()):
        inner = click.Context(command, info_name=name, parent=context, max_content_width=100)
        parts.append(f"## rectilinear {name}\n\n```text\n{command.get_help(inner)}\n```")
    return "\n\n".join(parts) + "\n"
