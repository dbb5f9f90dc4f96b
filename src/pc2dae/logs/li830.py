"""LI-COR LI-830 over its serial line: one stamped line of XML per record, as a companion computer keeps it."""

from __future__ import annotations

from os import PathLike

from pc2dae.atomic import write_text
from pc2dae.flight.stream import Stream
from pc2dae.logs.cells import cells, column, iso


def write(path: str | PathLike[str], stream: Stream) -> None:
    """Write a stream as the analyser talks: UTC stamp, tab, `<li830><data>…`; pressure in kPa, no tag where no value."""
    table = {
        "co2": cells(column(stream, "co2"), 3),
        "celltemp": cells(column(stream, "cell_temperature"), 3),
        "cellpres": cells(column(stream, "cell_pressure") / 10.0, 4),
        "flowrate": cells(column(stream, "flow"), 3),
    }
    lines = []
    for row, stamp in enumerate(iso(stream.time.astype("datetime64[ns]"), "ms")):
        data = "".join(f"<{tag}>{values[row]}</{tag}>" for tag, values in table.items() if values[row])
        lines.append(f"{stamp}Z\t<li830><data>{data}</data></li830>\r\n")
    write_text(path, "<li830><ack>true</ack><ver>1.0.6</ver></li830>\r\n" + "".join(lines))
