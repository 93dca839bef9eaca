"""The group of commands; refusals of the package are sentences with exit code 2."""

from __future__ import annotations

from typing import Any

import click

from ..errors import RectilinearError


class Refusal(click.ClickException):
    """A refusal of the package as one sentence on stderr."""

    exit_code = 2


class RefusingGroup(click.Group):
    """Commands whose refusals are sentences, never tracebacks."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except RectilinearError as error:
            raise Refusal(str(error)) from error
        except MemoryError as error:
            raise Refusal(f"the run must fit in memory ({error}); keep fewer points, or take a smaller network.") from error


@click.group(cls=RefusingGroup, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(package_name="rectilinear", prog_name="rectilinear", message="%(prog)s %(version)s")
def main() -> None:
    """How bias-free (leaky) ReLU networks learn."""
