"""The Typer application that commands are added to."""

from __future__ import annotations

import typer

app = typer.Typer(
    name="pc2dae",
    help="From the noisy logs of cheap sensors on drones in smoke to clean concentrations with uncertainty.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"max_content_width": 120},
    rich_markup_mode=None,  # plain text: rich would import its Markdown parser for --help
)


@app.callback(invoke_without_command=True)
def _version(
    show: bool = typer.Option(False, "--version", help="Print the version and exit."),
    debug: bool = typer.Option(False, "--debug", help="Show the whole traceback of an error (anywhere on the line)."),
) -> None:
    if show:
        from pc2dae import __version__

        typer.echo(f"pc2dae {__version__}")
        raise typer.Exit


def again(**options: object) -> str:
    """Options of this call to repeat in the suggested next command; those not given are omitted."""
    return "".join(f" --{name} {value}" for name, value in options.items() if value is not None)
