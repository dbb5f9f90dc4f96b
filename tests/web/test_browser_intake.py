"""Getting data in, in a real browser: questions, repair, campaigns, names, undo."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ground import plain_csv
from test_repair import ANSWERS, HEADER, kolibri

pytestmark = pytest.mark.slow
ESTIMATE = (0, 114, 178)  # --estimate of the style sheet
ALARM = (179, 38, 30)  # --alarm
LOOKS = {"light": {}, "dark": {"color_scheme": "dark"}, "tablet": {"viewport": {"width": 1024, "height": 768}},
         "phone": {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}}  # fmt: skip
TOO_SMALL = """() => [...document.querySelectorAll("main button, main select, main input:not([type=checkbox])")]
  .filter((e) => e.checkVisibility() && e.getBoundingClientRect().height < 44).map((e) => e.outerHTML)"""
Open = Callable[..., Any]


def looks(opened: Open, view: str, ready: str, shots: Path, name: str) -> None:
    """Pictures of a view in every light and on every screen, none of them wider than the screen."""
    for look, settings in LOOKS.items():
        page = opened(view, **settings)
        page.wait_for_selector(ready)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), look
        page.screenshot(path=shots / f"{name}-{look}.png", full_page=look == "phone")
        page.context.close()


def test_a_flight_is_repaired_in_place(opened: Open, until: Any, pixels: Any, shots: Path, tmp_path: Path) -> None:
    header = HEADER.replace("NO2", "NO2 cell")
    (tmp_path / "burn.csv").write_bytes(kolibri(header=header, rows=240))
    (tmp_path / "later.csv").write_bytes(kolibri(11, header=header, rows=240))
    page = opened()
    page.wait_for_selector("#panels .plot[data-from]")  # the gallery is read first
    page.set_input_files("#files", tmp_path / "burn.csv")
    page.wait_for_selector(".questions")
    assert page.locator(".question").count() == 5
    assert "first values: 0, 1, 2" in page.inner_text(".questions")
    assert page.evaluate(TOO_SMALL) == []
    looks(opened, page.url.partition("/#")[2].join(["#", ""]), ".questions", shots, "questions")
    page.get_by_label("Which time zone").fill("Mars/Olympus")
    page.get_by_label("Which altitude").select_option(ANSWERS["altitude"])
    page.get_by_label("Which unit is Height").select_option("ft")
    page.get_by_label("2 columns look like CO").select_option("CO_ppm")
    page.get_by_label("Which unit is NO2 cell").select_option("ppb")
    page.click(".questions button.primary")
    page.wait_for_selector(".questions > .problem:not([hidden])")
    page.reload()
    page.wait_for_selector(".question [aria-invalid]")
    assert page.get_by_label("Which time zone").input_value() == "Mars/Olympus"
    assert page.get_by_label("Which unit is Height").input_value() == "ft"
    assert pixels(page, ".question:has([aria-invalid])", ALARM) > 100
    page.screenshot(path=shots / "refused.png")
    page.get_by_label("Which time zone").fill("America/Chicago")
    page.click(".questions button.primary")
    page.wait_for_selector("#ready:not([hidden]) #panels [data-channel=co] .plot[data-from]")
    assert pixels(page, "#panels [data-channel=co] .plot", ESTIMATE) > 200
    page.set_input_files("#files", tmp_path / "later.csv")
    until(page, "document.querySelector('#about').textContent.includes('Read with suite burn, saved on')")
    page.wait_for_selector("#ready:not([hidden])")
    page.screenshot(path=shots / "found.png")
    page.get_by_text("Read again …").click()
    page.locator("#about .repair").scroll_into_view_if_needed()
    page.screenshot(path=shots / "again.png")
    page.get_by_role("button", name="Choose another").click()
    page.wait_for_selector(".questions")
    page.get_by_text("Read it in another way").click()
    page.get_by_label("Unit of NO2 cell").fill("furlongs")
    for column in ("deltaCO_mg.m3", "Alt_MSL_ft"):
        page.get_by_label(f"What {column} is").select_option("")
    page.get_by_label("Time zone, if stamps have none").fill("UTC")
    page.screenshot(path=shots / "another-way.png", full_page=True)
    page.get_by_role("button", name="Save the suite and read the flight").click()
    page.wait_for_selector(".repair > .problem:not([hidden])")
    assert "'furlongs' is not a unit" in page.inner_text(".repair > .problem")


def test_a_campaign_with_names_tags_and_undo(opened: Open, until: Any, shots: Path, tmp_path: Path) -> None:
    folder = tmp_path / "konza"
    for name, day in (("am", "01"), ("pm", "02")):
        (folder / name).mkdir(parents=True)
        (folder / name / f"{name}.csv").write_bytes(plain_csv().replace(b"2025-10-01", f"2025-10-{day}".encode()))
    (folder / "readme.txt").write_text("windy")
    page = opened()
    page.wait_for_selector("#panels .plot[data-from]")
    before = page.locator("#flights li").count()
    page.set_input_files("#folder", folder)
    page.wait_for_selector(".parts li:nth-child(2)")
    assert "2 flights in 3 files" in page.inner_text(".questions h2")
    looks(opened, page.url.partition("/#")[2].join(["#", ""]), ".parts", shots, "campaign")
    page.get_by_role("button", name="Read 2 flights").click()
    until(page, f"document.querySelectorAll('#flights li').length === {before + 2}")
    page.screenshot(path=shots / "reading.png")
    page.wait_for_selector("#ready:not([hidden])")
    page.get_by_text("Name, notes, tags").click()
    page.get_by_label("Name", exact=True).fill("Konza, morning")
    page.get_by_label("Tags").fill("konza, calm")
    page.get_by_label("Notes").fill("Low flight.\nInlet checked.")
    page.get_by_role("button", name="Save", exact=True).click()
    until(page, "document.querySelector('#flights li.is-shown').textContent.includes('Konza, morning')")
    until(page, "document.querySelector('#about .notes')?.textContent.includes('Inlet checked')")
    assert page.locator("#flights li.is-shown .tag").all_inner_texts() == ["konza", "calm"]
    looks(opened, page.url.partition("/#")[2].join(["#", ""]), "#about .notes", shots, "described")
    page.click("#flights li.is-shown button")
    until(page, f"document.querySelectorAll('#flights li').length === {before + 1}")
    page.screenshot(path=shots / "undo.png")
    page.get_by_role("button", name="Undo", exact=True).click()
    until(page, f"document.querySelectorAll('#flights li').length === {before + 2}")
    until(page, "document.querySelector('#title').textContent.includes('Konza, morning')")
    page.wait_for_selector("#ready:not([hidden])")
