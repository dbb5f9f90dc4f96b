from __future__ import annotations

from pc2dae.view import assets
from pc2dae.web.app import STATIC


def test_every_script_is_checked_for_types() -> None:
    """`make js` checks only files that ask for it."""
    scripts = [*assets.STATIC.glob("*.js"), *STATIC.glob("*.js")]
    assert len(scripts) > 20
    assert [path.name for path in scripts if not path.read_text().startswith("// @ts-check\n")] == []
