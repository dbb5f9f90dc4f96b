"""Size of an installation by package: the base install, and each extra on top of it.

    python benchmarks/footprint.py [--extra serve …]

Reads the files of the installed packages, so it needs no network; run it in an environment with everything installed.
"""

from __future__ import annotations

import argparse
import re
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement


def needed(name: str, extras: frozenset[str] = frozenset()) -> set[str]:
    """A package and all that it requires with these extras, as far as installed."""
    found: dict[str, frozenset[str]] = {}
    waiting = [(name, extras)]
    while waiting:
        package, chosen = waiting.pop()
        key = re.sub(r"[-_.]+", "-", package).lower()
        if key in found and chosen <= found[key]:
            continue
        found[key] = found.get(key, frozenset()) | chosen
        try:
            lines = distribution(key).requires or []
        except PackageNotFoundError:
            del found[key]
            continue
        for requirement in map(Requirement, lines):
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in (*chosen, "")):
                waiting.append((requirement.name, frozenset(requirement.extras)))
    return set(found)


def megabytes(name: str) -> float:
    """Size of the files of an installed package [MB], without its byte code."""
    files = distribution(name).files or []
    return sum(p.stat().st_size for f in files if f.suffix != ".pyc" and (p := f.locate()).is_file()) / 1e6  # type: ignore[union-attr]


def main() -> None:
    """Print the sizes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    extras = ["figures", "stream", "serve", "geo", "benchmark", "cluster", "train"]
    parser.add_argument("--extra", nargs="*", default=extras)
    chosen = parser.parse_args()
    base = needed("pc2dae")
    sizes = {name: megabytes(name) for name in base}
    print(f"base install: {sum(sizes.values()):,.0f} MB in {len(sizes)} packages")
    for name, size in sorted(sizes.items(), key=lambda item: -item[1]):
        if size >= 1:
            print(f"  {name:<24} {size:>7.1f} MB")
    for extra in chosen.extra:
        more = needed("pc2dae", frozenset([extra])) - base
        print(f"[{extra}] adds {sum(map(megabytes, more)):,.0f} MB in {len(more)} packages: {', '.join(sorted(more))}")


if __name__ == "__main__":
    main()
