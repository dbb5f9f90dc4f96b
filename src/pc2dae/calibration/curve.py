"""Calibration files: for each channel, how its reading depends on the air, with covariance and range of validity.

reading = zero + gain · (air − centre) + Σ coefficient · (environment term − centre) + Σ coefficient · (gas − centre)

Counted from the middle of the co-location, zero and gain have independent errors.

A file is JSON with the SHA-256 of its own content; several files of one payload are different times of it.
"""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pc2dae.arrays import Array
from pc2dae.atomic import write_bytes
from pc2dae.calibration.terms import CROSS, TERMS
from pc2dae.errors import CalibrationError
from pc2dae.response.payload import ChannelResponse

KIND = "pc2dae-calibration"


class _CurvePart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Curve(_CurvePart):
    """The calibration of one channel."""

    units: str  # of the air
    reading_units: str
    terms: dict[str, float]  # coefficients [reading units per the term's unit], "gain" and "zero" first
    covariance: tuple[tuple[float, ...], ...]  # in the order of `terms`
    centre: dict[str, float]  # of "air" and of each further term
    range: dict[str, tuple[float, float]]  # of "air" and of each environment term: where the curve is known
    residual: float = Field(ge=0)  # standard deviation of held-out residuals [units of the air]
    slow: float = Field(ge=0)  # of their hourly means: error of a zero that is not checked [reading units]
    wander: float = Field(ge=0)  # of the zero within half an hour [reading units]
    ageing: float = Field(ge=0)  # of the zero after the calibration [reading units per √day]
    drift_per_day: tuple[float, float] = (0.0, 0.0)  # trend of the residuals and its uncertainty [units of the air]
    identity: str = ""  # hash of the sheet the reading was made with
    response: ChannelResponse | None = None  # how the channel follows the air, where the co-location showed it

    @model_validator(mode="after")
    def _is_complete(self) -> Curve:
        if list(self.terms)[:2] != ["gain", "zero"] or self.terms["gain"] == 0:
            raise ValueError("terms must begin with a gain, which is not 0, and a zero")
        size = len(self.terms)
        if np.shape(self.covariance) != (size, size):
            raise ValueError(f"covariance is not {size} x {size}")
        for term in list(self.terms)[2:]:
            if not term.startswith(CROSS) and term not in TERMS:
                raise ValueError(f"unknown term '{term}'")
        if missing := [t for t in ("air", *list(self.terms)[2:]) if t not in self.centre]:
            raise ValueError(f"no centre of '{missing[0]}'")
        if missing := [t for t in ("air", *self.environment) if t not in self.range]:
            raise ValueError(f"no range of '{missing[0]}'")
        return self

    @property
    def environment(self) -> tuple[str, ...]:
        """The terms of the environment."""
        return tuple(term for term in self.terms if term in TERMS)

    @property
    def cross(self) -> dict[str, float]:
        """Coefficients of interfering channels [reading units per their unit]."""
        return {term.removeprefix(CROSS): value for term, value in self.terms.items() if term.startswith(CROSS)}

    def sigma(self, term: str) -> float:
        """Standard uncertainty of a coefficient."""
        at = list(self.terms).index(term)
        return float(np.sqrt(self.covariance[at][at]))

    def baseline_sigma(self, environment: dict[str, float]) -> float:
        """Standard uncertainty of zero and environment terms together at given conditions [reading units]."""
        names = ["zero", *self.environment]
        at = [list(self.terms).index(name) for name in names]
        size = np.array([1.0, *(environment[term] - self.centre[term] for term in self.environment)])
        part: Array = np.array(self.covariance)[np.ix_(at, at)]
        return float(np.sqrt(max(size @ part @ size, 0.0)))


class Calibration(_CurvePart):
    """The calibration of a payload at one time."""

    kind: Literal["pc2dae-calibration"] = "pc2dae-calibration"
    version: Literal[1] = 1
    method: Literal["co-location", "intervals", "pooled"]
    suite: str = ""  # name of the payload's suite
    period: tuple[datetime, datetime]
    data: dict[str, str] = {}  # file: SHA-256 of its content
    channels: dict[str, Curve] = Field(min_length=1)
    scores: tuple[dict[str, Any], ...] = ()  # of the held-out part, one row per channel

    @property
    def middle(self) -> np.datetime64:
        """The time it stands for."""
        start, end = self.period
        return np.datetime64((start + (end - start) / 2).replace(tzinfo=None), "ns")

    @property
    def facts(self) -> dict[str, str]:
        """Method, period and hash, for attributes."""
        start, end = (when.strftime("%Y-%m-%dT%H:%MZ") for when in self.period)
        return {"method": self.method, "start": start, "end": end, "sha256": self.digest[:12]}

    @property
    def label(self) -> str:
        """The facts in a few words."""
        return "{method} {start}/{end}, sha256 {sha256}".format(**self.facts)

    @property
    def digest(self) -> str:
        """SHA-256 of the content."""
        return _digest(self.model_dump(mode="json"))

    def write(self, path: str | Path) -> None:
        """Write the file atomically."""
        content = self.model_dump(mode="json") | {"sha256": self.digest}
        write_bytes(path, (json.dumps(content, indent=1, allow_nan=False) + "\n").encode())


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def is_calibration(path: str | PathLike[str]) -> bool:
    """Whether a JSON file is a calibration rather than a factory sheet; False if it is neither."""
    try:
        content = json.loads(Path(path).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and content.get("kind") == KIND


def read_calibration(path: str | Path) -> Calibration:
    """Read a calibration file; a damaged or foreign one is refused."""
    name = Path(path).name
    try:
        content = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise CalibrationError(f"{name} cannot be opened ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise CalibrationError(f"{name} is not JSON ({str(error).splitlines()[0]})") from None
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise CalibrationError(f"{name} is not a calibration", hint="pass a file that `pc2dae calibrate` wrote")
    stated = content.pop("sha256", None)
    try:
        calibration = Calibration.model_validate_json(json.dumps(content))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise CalibrationError(f"{name}: {where}: {first['msg'].removeprefix('Value error, ')}") from None
    if _digest(content) != stated:
        raise CalibrationError(
            f"{name}: its content does not match its SHA-256", hint="it was damaged or edited: calibrate again"
        )
    return calibration
