from __future__ import annotations

from hand_made import clean, measured, suite  # noqa: F401
