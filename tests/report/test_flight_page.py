from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import pc2dae
from pc2dae.flags import OUT_OF_RANGE
from pc2dae.report import slides
from pc2dae.report.page import script_safe
from pc2dae.view import assets
from pc2dae.view.assets import uplot_folder
from pc2dae.view.flight_view import FlightView


def visible(html: str) -> str:
    """The page without its scripts and style, tags taken out."""
    return re.sub(r"<[^>]+>", " ", re.sub(r"<(script|style)\b.*?</\1>", " ", html, flags=re.DOTALL))


def test_the_page_is_whole_in_itself_and_small(page: Path) -> None:
    html = page.read_text("utf-8")
    assert len(html.encode()) < 400_000
    own = html.replace((uplot_folder() / "uPlot.iife.js").read_text("utf-8"), "")
    assert len(own) < 300_000
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg\")", own)  # but for a namespace, which is a name only
    assert not re.search(r"<(link|img|iframe)\b|<script[^>]* src=", own)


def test_the_page_says_what_the_flight_is(page: Path) -> None:
    text = visible(page.read_text("utf-8"))
    assert "hand made, 2025-10-01" in text
    assert "10 min on the move from 12:00 to 12:09 UTC with the suite hand: 3 channels in 2 families." in text
    assert "2 plume encounters." in text
    assert "denoised gas, co2 with rts, strength 1" in text
    for word in ("Signals", "Spectra", "Plumes", "Scores", "Quality", "startup", "MCE", "constant"):
        assert word in text


def test_text_from_files_is_escaped(page: Path) -> None:
    html = page.read_text("utf-8")
    assert "carbon \\u003cmonoxide>" in html
    assert "<monoxide>" not in html
    assert script_safe('"</script><!--"') == '"\\u003c/script>\\u003c!--"'


def data_of(page: Path) -> dict[str, Any]:
    """What the page's script draws."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text("utf-8"), re.DOTALL)
    assert found is not None
    return dict(json.loads(found[1]))


def test_the_page_embeds_the_view(page: Path, clean: xr.Dataset) -> None:
    data = data_of(page)
    assert data["view"]["channels"] == FlightView(clean).as_json()["channels"]
    assert list(data["series"]["channels"]) == ["co", "no2", "co2"]
    assert len(data["track"]["east"]) == 600


def test_a_flight_without_estimate_position_or_plumes_has_a_page_too(measured: xr.Dataset, tmp_path: Path) -> None:
    quiet = measured.drop_vars(["latitude", "longitude", "altitude", "ground_speed"])
    for name in ("co", "no2"):
        quiet[name] = quiet[name].copy(data=np.full(600, np.nan))
        quiet[f"qc_{name}"] = quiet[f"qc_{name}"].copy(data=np.ones(600, np.int32))
    pc2dae.report(quiet, tmp_path / "page.html")
    text = visible((tmp_path / "page.html").read_text("utf-8"))
    assert data_of(tmp_path / "page.html")["view"]["channels"][0]["summary"] == "nothing measured"
    assert "Spectra" not in text


def test_channels_without_a_usable_sample_are_on_the_page_and_named(measured: xr.Dataset, tmp_path: Path) -> None:
    from pc2dae.web.facts import write_run_facts

    lost = measured.copy(deep=True)
    for name in ("no2", "co2"):  # one of a family of two, and a whole family
        lost[name][:] = -1e6
        lost[f"qc_{name}"][:] = OUT_OF_RANGE
    clean = pc2dae.denoise(lost, model="rts")
    pc2dae.report(clean, tmp_path / "page.html")
    text = visible((tmp_path / "page.html").read_text("utf-8"))
    assert "1 channel was denoised" in text
    assert "no2 (no usable sample: 100 % out_of_range); co2 (no usable sample: 100 % out_of_range)" in text
    slides(clean, tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").stat().st_size > 10_000
    write_run_facts(tmp_path, FlightView(clean))
    facts = json.loads((tmp_path / "facts.json").read_text("utf-8"))
    assert list(facts["channels"]) == ["co"]
    assert facts["left_raw"] == [f"{name} (no usable sample: 100 % out_of_range)" for name in ("no2", "co2")]


def test_the_truth_is_drawn_and_scored(clean: xr.Dataset, tmp_path: Path) -> None:
    truth = xr.Dataset(
        {f"{n}_response": ("time", clean[n].values) for n in ("co", "no2", "co2")}, {"time": clean["time"]}
    )
    pc2dae.report(clean, tmp_path / "page.html", truth=truth)
    text = visible((tmp_path / "page.html").read_text("utf-8"))
    assert data_of(tmp_path / "page.html")["series"]["channels"]["co"]["truth"] is not None
    assert re.search(r"MAE reduction \[%\]\s+100\.00", text)
    assert "Error budget" not in text  # this truth knows neither the air nor the reading without lag


def test_the_error_budget_is_drawn(clean: xr.Dataset, tmp_path: Path) -> None:
    truth = xr.Dataset(
        {
            f"{n}_{k}": ("time", clean[n].values)
            for n in ("co", "no2", "co2")
            for k in ("response", "instant", "ambient")
        },
        {"time": clean["time"]},
    )
    pc2dae.report(clean, tmp_path / "page.html", truth=truth)
    html = (tmp_path / "page.html").read_text("utf-8")
    assert html.count("left of noise and lag</text>") == 2  # the whole flight and plumes
    assert re.search(r"co\s+0\.\d\d\s+0\.00\s+0\.00\s+0\.00", visible(html))  # noise and nothing else


def test_the_room_is_callable_however_it_was_come_by() -> None:
    code = (
        "import sys, pc2dae; f = pc2dae.report; import pc2dae.report;"
        "assert callable(f) and callable(pc2dae.report); assert 'torch' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_slides(clean: xr.Dataset, tmp_path: Path) -> None:
    pc2dae.report.slides(clean, tmp_path / "slides.pdf")
    first = (tmp_path / "slides.pdf").read_bytes()
    assert first.startswith(b"%PDF")
    assert len(re.findall(rb"/Type /Page\b", first)) == 2 + 2  # families, map, spectra
    pc2dae.report.slides(clean.drop_vars(["latitude", "longitude", "altitude"]), tmp_path / "slides.pdf")
    assert len(re.findall(rb"/Type /Page\b", (tmp_path / "slides.pdf").read_bytes())) == 2 + 1


RANGES = "[...document.querySelectorAll('.plot[data-from]')].map(p => [Number(p.dataset.from), Number(p.dataset.to)])"


@pytest.mark.slow
def test_a_browser_draws_it_and_follows_a_plume(page: Path, browser: Any) -> None:
    tab = browser.new_page(viewport={"width": 390, "height": 800})
    wrong: list[str] = []
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    tab.on("request", lambda r: wrong.append(r.url) if r.url.startswith("http") else None)
    tab.goto(page.as_uri(), timeout=120_000)
    tab.wait_for_selector("html[data-ready=yes]", state="attached", timeout=120_000)
    tab.evaluate("document.getElementById('panels').scrollIntoView()")
    tab.wait_for_selector(".plot[data-from] canvas")
    tab.evaluate("document.getElementById('plume-next').click()")
    tab.wait_for_timeout(1000)  # not wait_for_function: it needs eval, which the page forbids
    ranges = tab.evaluate(RANGES)
    width = tab.evaluate("document.documentElement.scrollWidth")
    tab.close()
    assert len({tuple(r) for r in ranges}) == 1
    assert ranges[0][0] > np.datetime64("2025-10-01T12:02", "ms").astype(int)
    assert width <= 390
    assert wrong == []


SHOWN = "[...document.querySelectorAll('#track-side, #track, #profile')].filter(e => e.offsetHeight).map(e => e.id)"


@pytest.mark.slow
def test_the_map_is_linked_with_the_panels(page: Path, browser: Any) -> None:
    tab = browser.new_page(viewport={"width": 1024, "height": 768})
    tab.goto(page.as_uri(), timeout=120_000)
    tab.wait_for_selector("html[data-ready=yes]", state="attached", timeout=120_000)
    tab.evaluate("document.documentElement.style.scrollBehavior = 'auto'")
    tab.evaluate("document.getElementById('grid').scrollIntoView()")
    tab.wait_for_selector(".plot[data-from] canvas")
    shown = tab.evaluate(SHOWN)
    tab.click("[aria-label='Show plume 2']")
    tab.wait_for_timeout(500)
    ranges = tab.evaluate(RANGES)
    box = tab.locator("#track canvas").bounding_box()
    x = tab.evaluate("document.querySelector('[aria-label=\"Show plume 2\"]').offsetLeft") + 12
    middle = box["x"] + 14 + (box["width"] - 88) / 2  # of a track that goes straight north
    assert abs(box["x"] + x - middle) > 12  # the number stands beside it
    for y in range(20, int(box["height"]), 10):
        tab.mouse.move(middle, box["y"] + y)
        if tab.evaluate("!document.querySelector('#track .tip').hidden"):
            break
    reading = tab.evaluate("document.querySelector('.summary.is-reading').textContent")
    rings = tab.evaluate("[...document.querySelectorAll('.here')].filter(e => !e.hidden).length")
    tab.close()
    assert shown == ["track-side", "track", "profile"]
    assert ranges[0][0] > np.datetime64("2025-10-01T12:05", "ms").astype(int)
    assert reading.startswith("12:0")
    assert rings == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lost", "left"),
    [(["latitude", "longitude"], ["track-side", "profile"]), (["altitude"], ["track-side", "track"]),
     (["latitude", "longitude", "altitude"], [])],
)  # fmt: skip
def test_what_a_flight_does_not_know_has_no_frame(
    clean: xr.Dataset, browser: Any, tmp_path: Path, lost: list[str], left: list[str]
) -> None:
    pc2dae.report(clean.drop_vars(lost), tmp_path / "page.html")
    tab = browser.new_page()
    tab.goto((tmp_path / "page.html").as_uri(), timeout=120_000)
    tab.wait_for_selector("html[data-ready=yes]", state="attached", timeout=120_000)
    shown = tab.evaluate(SHOWN)
    tab.close()
    assert shown == left


@pytest.mark.slow
def test_every_time_axis_has_a_date_in_its_zone(browser: Any) -> None:
    context = browser.new_context(timezone_id="Africa/Johannesburg")  # two hours ahead of UTC
    tab = context.new_page()
    needed = [(assets.STATIC / f"{name}.js").read_text("utf-8") for name in ("format", "zone", "canvas", "axes")]
    source = re.sub(r"^export |^import .*$", "", "\n".join(needed), flags=re.MULTILINE)

    def labels(zone: str, seconds: int) -> list[str]:
        axis = f"timeTicks([{start}, {start + 1000 * seconds}], 500).labels"
        return list(tab.evaluate(f"() => {{ {source}; chooseZone('{zone}', false); return {axis}; }}"))

    start = 1_759_275_900_000  # 2025-09-30 23:45 UTC
    assert labels("utc", 40) == ["23:45:00\n2025-09-30", "23:45:10", "23:45:20", "23:45:30", ""]
    assert labels("utc", 1800) == ["23:50\n2025-09-30", "00:00\n2025-10-01", "00:10"]
    assert labels("utc", 172_000) == ["00:00\n2025-10-01", "12:00", "00:00\n2025-10-02", "12:00"]
    assert labels("local", 172_000) == ["12:00\n2025-10-01", "00:00\n2025-10-02", "12:00", ""]
    context.close()


def test_a_flight_in_which_nothing_was_measured_has_a_page_too(measured: xr.Dataset, tmp_path: Path) -> None:
    empty = measured.copy(deep=True)
    for name in ("co", "no2", "co2"):
        empty[name].values[:] = np.nan
        empty[f"qc_{name}"].values[:] = 1
    pc2dae.report(empty, tmp_path / "page.html")
    assert "0 plume encounters" in " ".join(visible((tmp_path / "page.html").read_text("utf-8")).split())
