"""What the live view stores for the next start of the server: connection, estimates received, limits and alarms."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import SecretStr, ValidationError

from pc2dae.atomic import write_text
from pc2dae.edge.card import digest
from pc2dae.edge.messages import Taken
from pc2dae.web.live.alarms import Alarms
from pc2dae.web.live.live_models import Connect
from pc2dae.web.live.payload_match import Payload
from pc2dae.web.problems import Refused
from pc2dae.web.settings import Settings

_log = logging.getLogger(__name__)


class SavedConnection:
    """`live.json`, and `live/password`, which only its owner can read."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.path, self.secret = settings.data / "live.json", settings.data / "live" / "password"

    def completed(self, wanted: Connect, before: Connect | None) -> Connect:
        """The request with its defaults, and with the password given before for the same broker and user."""
        settings = self.settings
        defaults = {"broker": settings.broker, "topic_in": settings.topic_in, "topic_out": settings.topic_out,
                    "tls": settings.ca is not None}  # fmt: skip
        given = wanted.model_copy(update={k: v for k, v in defaults.items() if getattr(wanted, k) is None})
        if before is None or given.password is not None or given.user is None:
            return given
        is_same = all(getattr(given, key) == getattr(before, key) for key in ("broker", "user", "tls"))
        return given.model_copy(update={"password": before.password}) if is_same else given

    def login(self, wanted: Connect) -> dict[str, Any]:
        """Address and credentials as `Broker.parse` takes them."""
        password = None if wanted.password is None else wanted.password.get_secret_value()
        ca = str(self.settings.ca) if wanted.tls and self.settings.ca is not None else None
        return {"text": wanted.broker, "user": wanted.user, "password": password, "tls": wanted.tls, "ca": ca}

    def load(self) -> Connect | None:
        """The stored connection."""
        with suppress(OSError, ValidationError):
            wanted = Connect.model_validate_json(self.path.read_bytes())
            with suppress(OSError, UnicodeDecodeError):
                wanted.password = SecretStr(self.secret.read_text(encoding="utf-8"))
            return wanted
        return None

    def store(self, wanted: Connect) -> None:
        """Connect so at the next start."""
        if wanted.password is None:
            self.secret.unlink(missing_ok=True)
        else:
            write_text(self.secret, wanted.password.get_secret_value(), is_private=True)
        write_text(self.path, wanted.model_dump_json(exclude={"password"}))

    def delete(self) -> None:
        """Do not connect at the next start."""
        self.path.unlink(missing_ok=True)
        self.secret.unlink(missing_ok=True)


class ConfirmedEstimates:
    """What was received of our own gateway with a payload; with another one it numbers its flights independently."""

    def __init__(self, folder: Path, model: str, payload: Payload, calibration: Sequence[Path]) -> None:
        parts = [model, payload.suite.model_dump_json(), payload.exclude, [str(path) for path in calibration]]
        self.path = folder / f"{digest(json.dumps(parts).encode())[:16]}.taken.json"

    def read(self) -> dict[str, int]:
        """The last number of each flight."""
        with suppress(OSError, ValidationError):
            return Taken.model_validate_json(self.path.read_bytes()).taken
        return {}

    def write(self, confirmation: Taken) -> None:
        """Store a confirmation."""
        write_text(self.path, confirmation.model_dump_json())


class SavedAlarms:
    """The file from which the next server process continues."""

    def __init__(self, alarms: Alarms, path: Path) -> None:
        self.alarms, self.path, self.saving = alarms, path, asyncio.Lock()

    def load(self) -> None:
        """Continue with the limits and alarms of an earlier server process; an invalid file is kept beside."""
        if not self.path.exists():
            return
        try:
            self.alarms.load(self.path.read_bytes())
        except (OSError, ValidationError) as error:
            kept = self.path.replace(self.path.with_suffix(".invalid.json"))
            _log.warning("limits and earlier alarms cannot be read and were moved to %s: %s", kept, error)

    async def save(self) -> None:
        """Write limits and alarms if they have changed."""
        async with self.saving:
            if self.alarms.is_saved:
                return
            try:
                await asyncio.to_thread(write_text, self.path, self.alarms.dump())
            except OSError as error:
                self.alarms.is_saved = False
                raise Refused(507, f"limits and alarms cannot be saved: {error.strerror}") from None
