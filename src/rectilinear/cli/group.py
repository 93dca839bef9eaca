"""The group of commands; refusals of the package are sentences with exit code 2."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any

import click

from ..errors import RectilinearError, did_you_mean
from ..plugins import PluginWarning
from ..progress import interruption

INTERRUPTED = 130  # exit code


class Refusal(click.ClickException):
    """A refusal of the package as one sentence on stderr."""

    exit_code = 2


class NamedChoice(click.Choice[str]):
    """One of some names; a misspelt one, or what others call it, is guessed."""

    def __init__(self, names: Sequence[str], aliases: dict[str, str] | None = None) -> None:
        super().__init__(names)
        self.aliases = aliases

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            self.fail(error.message.removesuffix(".") + did_you_mean(value, self.choices, self.aliases), param, ctx)


class RefusingGroup(click.Group):
    """Commands whose refusals are sentences, never tracebacks."""

    def invoke(self, ctx: click.Context) -> Any:
        with warnings.catch_warnings():
            warnings.showwarning = _plainly(warnings.showwarning)
            return self._invoke(ctx)

    def _invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except RectilinearError as error:
            raise Refusal(str(error)) from error
        except KeyboardInterrupt:
            click.echo(interruption(), err=True)
            sys.exit(INTERRUPTED)
        except MemoryError as error:
            raise Refusal(f"the run must fit in memory ({error}); keep fewer points, or take a smaller network.") from error


def _plainly(show: Any) -> Any:
    """Show what is wrong with other packages as a sentence, and other warnings as before."""

    def tell(message: Warning | str, category: type[Warning], *where: Any, **options: Any) -> None:
        if issubclass(category, PluginWarning):
            click.echo(f"Warning: {message}", err=True)
        else:
            show(message, category, *where, **options)

    return tell


@click.group(cls=RefusingGroup, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(package_name="rectilinear", prog_name="rectilinear", message="%(prog)s %(version)s")
def main() -> None:
    """How bias-free (leaky) ReLU networks learn."""
