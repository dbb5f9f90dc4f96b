"""Where a variable comes from, among the logs of a payload."""

from __future__ import annotations

from dataclasses import dataclass

from pc2dae.errors import SuiteError


@dataclass(frozen=True)
class Source:
    """A column of an instrument's log; written "instrument.column", or "instrument/unit.column" for one of several."""

    instrument: str
    unit: str  # empty where there is one instrument of a kind
    column: str

    @classmethod
    def parse(cls, text: str) -> Source:
        """The source written as `text`."""
        key, _, column = text.partition(".")
        instrument, _, unit = key.partition("/")
        if not instrument or not column:
            raise SuiteError(
                f"invalid source '{text}'",
                hint="write instrument.column or instrument/unit.column, as in 'afe/a.co'",
            )
        return cls(instrument, unit, column)

    def __str__(self) -> str:
        return f"{self.key}.{self.column}"

    @property
    def key(self) -> str:
        """The instrument and its unit, as a stream's `key`: "afe/a", "bme280"."""
        return f"{self.instrument}/{self.unit}" if self.unit else self.instrument

    def variable(self, column: str | None = None) -> str:
        """The flight's variable for this or another column of the instrument that is not a channel: "afe_a_co_we"."""
        return f"{self.key.replace('/', '_')}_{self.column if column is None else column}"
