"""`pc2dae serve`: the web server of the ground station."""

from __future__ import annotations

from pathlib import Path

import typer

from pc2dae.cli.app import app
from pc2dae.cli.options import RESPONSE


@app.command()
def serve(
    port: int = typer.Option(8000, min=0, max=65535, help="Port; 0 for any free one."),
    host: str = typer.Option("127.0.0.1", help="Address to listen on; any but loopback needs a token."),
    token: str | None = typer.Option(None, envvar="PC2DAE_TOKEN", help="Required from every client."),
    data: Path | None = typer.Option(None, help="Folder of the stored flights. Default: the user's data folder."),
    broker: list[str] = typer.Option(
        [],
        metavar="HOST:PORT",
        help="MQTT broker of the live view; repeatable. Default: localhost:1883.",
    ),
    allow_any_broker: bool = typer.Option(
        False, "--allow-any-broker", help="Let the page name any broker; users can then probe for open ports."
    ),
    ca: Path | None = typer.Option(
        None, metavar="FILE", help="Authority (PEM) of the brokers' certificates. Default: the system's."
    ),
    topic_in: str = typer.Option("smoke/raw", "--in", metavar="TOPIC", help="Topic of the samples."),
    topic_out: str = typer.Option("smoke/clean", "--out", metavar="TOPIC", help="Topic of the estimates."),
    calibration: list[Path] = typer.Option(
        [], metavar="FILE", help="Calibration of the live view's payload, as in `pc2dae stream`; repeatable."
    ),
    response: Path | None = RESPONSE,
    workers: int = typer.Option(1, min=1, max=16, help="Jobs to run in parallel."),
    upload: int = typer.Option(200, min=1, max=100_000, help="Largest upload [MB]."),
    seconds: float = typer.Option(600.0, min=1, help="Time limit for one job [s]."),
    memory: int = typer.Option(3_000, min=500, help="Memory limit for one job [MB]."),
    open_page: bool = typer.Option(False, "--open", help="Open the page in a browser."),
) -> None:
    """Serve a web page to upload, view, compare, download and watch flights; works offline.

    Example: pc2dae serve --port 8000
    """
    from pc2dae.errors import require

    require("fastapi", extra="serve")  # first: other packages that are missing belong to smaller extras
    from platformdirs import user_data_path

    from pc2dae.calibration.curve import read_calibration
    from pc2dae.edge.broker import Broker
    from pc2dae.response.payload import read_response
    from pc2dae.web.server import open_socket
    from pc2dae.web.server import serve as run
    from pc2dae.web.settings import Limits, Settings

    first, *more = broker or ["localhost:1883"]
    for each in (first, *more):
        Broker.parse(each, ca=ca).client("")  # an unreadable authority is an error here
    for path in calibration:
        read_calibration(path)
    if response is not None:
        read_response(response)
    limits = Limits(upload_bytes=upload * 1_000_000, wall_s=seconds, cpu_s=int(seconds) + 1,
                    memory_bytes=memory * 1_000_000)  # fmt: skip
    folder = (data or user_data_path("pc2dae", appauthor=False)).expanduser().resolve()
    settings = Settings(data=folder, host=host, port=port, token=token,
                        broker=first, more_brokers=tuple(more), any_broker=allow_any_broker, ca=ca and ca.resolve(),
                        topic_in=topic_in, topic_out=topic_out, workers=workers,
                        calibration=tuple(path.resolve() for path in calibration),
                        response=response and response.resolve(), limits=limits)  # fmt: skip
    listener = open_socket(settings)
    shown = "localhost" if not host.strip("0.:") else f"[{host}]" if ":" in host else host  # 0.0.0.0 and ::
    address = f"http://{shown}:{listener.getsockname()[1]}/"
    typer.echo(f"{address}  (flights in {settings.data}; API at {address}docs; Ctrl-C stops)")
    if token is not None:
        typer.echo("append ?token=… to the address once per browser")
    if open_page:
        import webbrowser

        webbrowser.open(address)
    run(settings, listener)
