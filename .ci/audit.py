"""Known vulnerabilities of the installed packages, by pip-audit; without an advisory service one line says so.

    python .ci/audit.py

Exit code 1 for a finding only: a machine without a network can still run `make check`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

COMMAND = [sys.executable, "-m", "pip_audit", "--progress-spinner", "off", "--skip-editable", "--format", "json"]


def verdict(printed: str, error: str) -> tuple[int, str]:
    """Exit code and words for what pip-audit printed."""
    try:
        packages: list[dict[str, Any]] = json.loads(printed)["dependencies"]
    except (ValueError, LookupError):
        reason = error.strip().splitlines()[-1:] or ["no answer"]
        return 0, f"pip-audit skipped, no advisory service: {reason[0][:200]}"
    known = [package for package in packages if "skip_reason" not in package]
    if not known:
        return 0, f"pip-audit skipped: the advisory service knows none of {len(packages)} packages"
    open_ = [
        f"{package['name']} {package['version']}: {found['id']}, fixed in {', '.join(found['fix_versions']) or 'none'}"
        for package in known
        for found in package["vulns"]
    ]
    unknown = ", ".join(package["name"] for package in packages if "skip_reason" in package)
    counted = f"pip-audit: {len(open_)} findings in {len(known)} packages" + (f"; not known: {unknown}" * bool(unknown))
    return int(bool(open_)), "\n".join([*open_, counted])


def main() -> int:
    """Ask, and say what was found."""
    try:
        done = subprocess.run(COMMAND, capture_output=True, text=True, check=False, timeout=180)
    except subprocess.TimeoutExpired:
        code, words = verdict("", "it did not answer within three minutes")
    else:
        code, words = verdict(done.stdout, done.stderr)
    print(words)
    return code


if __name__ == "__main__":
    sys.exit(main())
