"""Draw docs/images/calibration_page.png: a part of the page that `pc2dae calibrate` writes, of a real co-location.

    python docs/calibration_picture.py

An AirSensEUR box beside a station in January 2020 (../shared/data or $PC2DAE_REAL_DATA), fitted until the
21st and scored on the two and a half days after it. Needs Chromium.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
from calibration_real import boxes, suite_text  # noqa: E402

from pc2dae.colocation import colocate  # noqa: E402
from pc2dae.report.calibration_page import write_calibration_page  # noqa: E402

PICTURE = ROOT / "docs" / "images" / "calibration_page.png"
PAIRS = {"co": "co_ref_ppm:ppm", "no2": "no2_ref_ppb:ppb", "o3": "o3_ref_ppb:ppb", "no": "no_ref_ppb:ppb"}
SHOWN = "#channel-o3"


def main() -> None:
    """Calibrate, write the page and take a picture of one channel."""
    box = boxes()[0]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        suite, page = Path(folder) / "box.toml", Path(folder) / "page.html"
        suite.write_text(suite_text())
        found = colocate(box, box, PAIRS, suite=suite, end="2020-01-24", test_from="2020-01-21T12:00Z")
        write_calibration_page(found, page, name=box.name.split(".")[0])
        chromium = shutil.which("chromium") or shutil.which("chromium-headless-shell")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1000, "height": 12_000})
        tab.goto(page.as_uri())
        shot = tab.locator(SHOWN).screenshot()
        browser.close()
    picture = Image.open(io.BytesIO(shot)).convert("RGB")
    picture.quantize(160, method=Image.Quantize.FASTOCTREE).save(PICTURE, optimize=True)
    print(f"{PICTURE}: {PICTURE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
