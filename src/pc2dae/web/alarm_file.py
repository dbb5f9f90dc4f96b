"""Limits and alarms in the data folder."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from pydantic import ValidationError

from pc2dae.atomic import write_text
from pc2dae.web.alarms import Alarms
from pc2dae.web.problems import Refused

_log = logging.getLogger(__name__)


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
