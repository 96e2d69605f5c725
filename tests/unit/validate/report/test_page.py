"""The page in a real browser: quiet, alone, its numbers those of report.json, its table filtered and paged."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.validate.report import lives, runs
from tests.unit.validate.report.browser import Browser
from validate import report

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOST_BYTES = 2_000_000
ENTER, TAB, RIGHT = 13, 9, 39
CELLS = "[...document.querySelectorAll('#found tbody tr')].map(r => [...r.cells].map(c => c.textContent.trim()))"
browser_test = [
    pytest.mark.browser,
    pytest.mark.skipif(not shutil.which("chromium"), reason="Chromium is not installed"),
]


def findings_of(scenario: Any) -> list[Any]:
    return [*(scenario["summary"] or {"findings": []})["findings"], *scenario["more_findings"]]


class Links(HTMLParser):
    """Everything in a page that a browser might fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        wanted = {"src", "href", "srcset", "data", "action", "poster", "background"}
        self.found += [value or "" for name, value in attrs if name in wanted and not (tag == "a" and name == "data")]


def test_the_page_asks_for_nothing(made: Path) -> None:
    page = (made / "report.html").read_text(encoding="utf-8")
    links = Links()
    links.feed(page)
    assert [x for x in links.found if not x.startswith("#") and x != "data:,"] == []
    assert not re.search(r"url\((?!#)|@import|https?://", page)


def test_text_of_a_run_is_never_markup(tmp_path: Path) -> None:
    bad = "</script><img src=x onerror=alert(1)>'\"&\u2028"
    life = lives.killed(1, more={"teaches": bad, "configured": {bad: bad}, "reproduce": bad, "explanation": bad})
    life.title, life.reasons, life.faults = bad, [bad], [(bad, bad, 1.0, 2.0, 3.0)]
    life.findings[0] |= {"topic": bad, "producer": bad, "detail": bad}
    page = report.write(runs.write(tmp_path / "run", [life], suite=bad)).html.read_text(encoding="utf-8")
    assert "<img" not in page
    assert page.count("<script") == page.count("</script>") == 2


def test_a_long_suite_stays_below_two_megabytes(tmp_path: Path) -> None:
    folder = runs.write(tmp_path / "run", [lives.killed(length_s=90.0), lives.stopped(length_s=90.0)])
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    for i in range(18):
        entry = run["scenarios"][0 if i % 4 == 0 else 1]
        run["scenarios"].append({**entry, "id": f"again-{i}"})
        for place in ("ledger/{}", "findings/{}", "verdicts/{}.json"):
            (folder / place.format(f"again-{i}")).symlink_to(folder / place.format(entry["id"]))
    (folder / "run.json").write_text(json.dumps(run), encoding="utf-8")
    assert report.write(folder).html.stat().st_size < MOST_BYTES


@pytest.fixture(scope="module")
def page(made: Path) -> Iterator[Browser]:
    with Browser() as one:
        one.show()
        one.open(made / "report.html")
        yield one


class TestInChromium:
    """One browser for all: each test leaves the filter as it likes and sets its own."""

    pytestmark = browser_test

    def test_no_complaints_and_no_requests(self, page: Browser, made: Path) -> None:
        for width in (1280, 390):
            for scheme in ("light", "dark"):
                page.show(width=width, scheme=scheme)
                page.open(made / "report.html")
                # Only boxes of their own scroll sideways, never the page.
                assert page.script("document.documentElement.scrollWidth <= innerWidth"), (width, scheme)
        page.show()
        page.open(made / "report.html")
        assert page.complaints == []
        assert set(page.requests) == {(made / "report.html").as_uri()}

    def test_light_and_dark_differ_and_are_readable(self, page: Browser) -> None:
        looks = {}
        for scheme in ("light", "dark"):
            page.show(scheme=scheme)
            code = "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
            paper, ink = (sum(map(int, re.findall(r"\d+", x)[:3])) for x in page.script(code))
            looks[scheme] = paper > ink
            assert abs(paper - ink) > 450
        page.show()
        assert looks == {"light": True, "dark": False}

    def test_numbers_are_those_of_report_json(self, page: Browser, told: Any) -> None:
        tiles = page.script(
            "Object.fromEntries([...document.querySelectorAll('.tiles > div')].map(d =>"
            " [d.querySelector('dt').textContent, d.querySelector('dd').textContent]))"
        )
        totals = told["totals"]
        for name, key in (("acknowledged", "acked"), ("kept", "found"), ("lost", "lost"), ("repeated", "repeated")):
            assert tiles[name] == f"{totals[key]:,}"
        assert page.script("document.querySelector('.sentence').textContent") == told["sentence"]
        assert page.script("document.querySelector('.banner .word').textContent").endswith(told["verdict"])
        rows = page.script(
            "[...document.querySelectorAll('.roomy tbody tr')].map(r => [...r.cells].map(c => c.innerText.trim()))"
        )
        assert len(rows) == len(told["scenarios"])
        for shown, one in zip(rows, told["scenarios"], strict=True):
            assert shown[0].endswith(one["verdict"])
            assert shown[1].startswith(one["id"])
            keys = ("acked", "found", "lost", "repeated", "violations")
            assert shown[2:7] == [f"{one['counts'][x]:,}" if one["summary"] else "\N{EN DASH}" for x in keys]

    def test_pictures_hold_the_counts_of_report_json(self, page: Browser, told: Any) -> None:
        for one in told["scenarios"]:
            for topic, partitions in one["timeline"]["topics"].items():
                label = f"svg.chart[aria-label^='{topic}:']"
                drawn = page.script(
                    f"document.querySelector(`[aria-labelledby='s-{one['id']}'] {label}`).dataset.acked"
                )
                sums = [sum(x) for x in zip(*(p["acked"] for p in partitions.values() if "acked" in p), strict=True)]
                assert list(map(float, drawn.split())) == sums

    def test_outage_table_is_that_of_report_json(self, page: Browser, told: Any) -> None:
        one = next(x for x in told["scenarios"] if x["id"] == "stop-one-broker")
        rows = page.script(
            "[...document.querySelectorAll(`[aria-labelledby='s-stop-one-broker'] caption`)]"
            ".find(c => c.textContent.startsWith('Longest outage')).parentElement.tBodies[0].rows.length"
        )
        assert rows == len(one["outages"]) == 6

    def test_findings_are_paged(self, page: Browser, told: Any) -> None:
        listed = sum(map(len, map(findings_of, told["scenarios"])))
        page.script("document.querySelector('[data-go=first]').click()")
        first = page.script(CELLS)
        assert len(first) == 25
        assert all(x[0].endswith("violation") for x in first)
        assert page.script("document.getElementById('which').textContent") == f"1 to 25 of {listed:,}"
        page.script("document.querySelector('[data-go=\"1\"]').click()")
        second = page.script(CELLS)
        assert not [x for x in second if x in first]
        page.script("document.querySelector('[data-go=last]').click()")
        assert len(page.script(CELLS)) == listed % 25
        assert page.script("document.querySelector('[data-go=\"1\"]').disabled")

    def test_findings_are_filtered_and_are_those_of_report_json(self, page: Browser, told: Any) -> None:
        page.script(
            "(() => { const set = (column, value) => { const x = document.querySelector(`[data-column='${column}']`);"
            " x.value = value; x.dispatchEvent(new Event('input', {bubbles: true})); };"
            " set(1, 'lost'); set(2, 'kill-leader'); const w = document.getElementById('words');"
            " w.value = 'HOLE 703'; w.dispatchEvent(new Event('input', {bubbles: true})); })()"
        )
        (shown,) = page.script(CELLS)
        one = next(x for x in told["scenarios"] if x["id"] == "kill-leader")
        (wanted,) = (x for x in findings_of(one) if x["seq"] == 703)
        keys = ("topic", "partition", "offset", "producer", "seq", "attempt", "detail")
        assert shown[3:] == [str(wanted[x]) for x in keys]
        page.script(
            "(() => { const w = document.getElementById('words'); w.value = 'no such';"
            " w.dispatchEvent(new Event('input', {bubbles: true})); })()"
        )
        assert page.script(CELLS) == []
        assert page.script("document.getElementById('which').textContent") == "none of them"

    def test_the_link_of_an_anomaly_sets_the_filter(self, page: Browser) -> None:
        page.script("document.querySelector('a[data-scenario=kill-leader][data-anomaly=gap]').click()")
        shown = page.script(CELLS)
        assert [x[1:3] for x in shown] == [["gap", "kill-leader"]] * 4

    def test_a_keyboard_reaches_everything(self, page: Browser, made: Path) -> None:
        page.open(made / "report.html")
        page.key("Tab", TAB)
        assert page.script("document.activeElement.className") == "skip"
        page.script("document.querySelector('svg.chart').focus()")
        page.key("ArrowRight", RIGHT)
        said = page.script("document.querySelector('svg.chart').closest('figure').querySelector('output').textContent")
        assert re.fullmatch(r"07:00:00\.000 UTC: \d+ acked per 100 ms", said)
        unreachable = page.script(
            "[...document.querySelectorAll('a, button, select, input, summary, svg.chart')].filter(x => x.tabIndex < 0).length"
        )
        assert unreachable == 0

    def test_the_rows_in_the_page_are_those_of_report_json(self, page: Browser, told: Any) -> None:
        rows = json.loads(page.script("document.getElementById('rows').textContent"))
        known = {
            (one["id"], x["anomaly"], x["topic"], x["partition"], x["offset"], x["producer"], x["seq"])
            for one in told["scenarios"] for x in findings_of(one)
        }  # fmt: skip
        assert {(r[2], r[1], r[3], r[4], r[5], r[6], r[7]) for r in rows} == known

    def test_it_prints_and_is_seen(self, page: Browser, tmp_path: Path) -> None:
        page.pdf(tmp_path / "report.pdf")
        assert (tmp_path / "report.pdf").stat().st_size > 20_000
        page.show(media="print")
        assert page.script("getComputedStyle(document.querySelector('.controls')).display") == "none"
        page.show()
        page.picture(tmp_path / "report.png")
        assert (tmp_path / "report.png").stat().st_size > 20_000
