"""The HTML page: nothing a model says becomes HTML, and browsers show it at every width."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from html.parser import HTMLParser
from pathlib import Path, PurePath

import pytest

from dpcheck.check.values.verdicts import (
    Amount,
    Counterexample,
    Coverage,
    Outcome,
    OutputSequence,
    Phrase,
    Table,
    Value,
    Violated,
)
from dpcheck.cli import run
from dpcheck.report.answers import Answer, Graph, Node, Portrait, StatedBudget, Summary
from dpcheck.report.formats.chain_drawing import chain_svg
from dpcheck.report.formats.findings import Checkout
from dpcheck.report.formats.page import html_text

GOLDEN = Path(__file__).parents[1] / "golden"
HERE = Checkout(PurePath("/"), PurePath("/"))
VOID = {"meta", "br", "hr", "link", "img", "input"}
HOSTILE = "<script>alert(1)</script>\x1b[31m]]>\"'&amp;\ud800"


class Elements(HTMLParser):
    """Checks that elements are closed in order, and counts them."""

    def __init__(self, text):
        super().__init__()
        self.open, self.counts, self.ids, self.links = [], {}, [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.ids += [value for name, value in attributes if name == "id"]
        self.links += [value for name, value in attributes if name in ("href", "src")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def page_of(arguments, capsys):
    run(["check", *arguments, "--format", "html"])
    return capsys.readouterr().out


def answer(claim, outcome, kind="check", line=1):
    return Answer("a.dpm", line, None, kind, "m", None, claim, (), False, outcome, 4, 4, 0.1)


def violated(text):
    p, q = Amount("3/4", "0.75"), Amount("1/4", "0.25")
    event = (OutputSequence((text,)),)
    found = Counterexample((text, text), event, (p, q), Phrase.of(p, " <= ", q), ratio=p)
    return Outcome(Violated(found), Coverage(1))


def test_the_page_is_one_file_without_scripts_or_network(capsys, monkeypatch):
    monkeypatch.chdir(GOLDEN)
    text = page_of(["formats.dpm", "DP305_unknown_target.dpm", "--max-states", "2000"], capsys)
    page = Elements(text)
    assert "script" not in page.counts
    assert "link" not in page.counts
    assert all(link[0] == "#" and link[1:] in page.ids for link in page.links)
    assert "url(http" not in text
    assert "@import" not in text
    tables = page.counts["table"]
    assert page.counts["caption"] == tables
    assert page.counts["h1"] == 1
    assert page.counts["svg"] >= 2


def test_texts_of_a_model_stay_texts(capsys):
    target = Portrait(
        "a.dpm",
        HOSTILE,
        None,
        (StatedBudget(Amount("inf", "inf"), Amount("0", "0")),),
        Graph((Node(HOSTILE, HOSTILE, True),), ((0, 0, "1"),)),
    )
    cells = ((HOSTILE, Amount("1/3", "0.33333333333333333")),)
    table = Outcome(Value(Amount("1", "1"), None, Table("t", (HOSTILE, "p"), cells)), Coverage(1))
    answers = (answer(HOSTILE, violated(HOSTILE)), answer("losses", table, "compute"))
    text = html_text(Summary(answers, (), portraits=(target,)), HERE)
    page = Elements(text)
    assert "script" not in page.counts
    assert "\x1b" not in text
    assert text.encode("utf-8").count(b"&lt;script&gt;") >= 6


def test_pieces_over_a_parameter_are_whole_with_what_their_ends_are(capsys):
    page = unescape(page_of([str(GOLDEN / "all_values_pieces.dpm")], capsys))
    text = (GOLDEN / "all_values_pieces.txt").read_text("utf-8")
    (long,) = re.findall(r"<td>(\(40 \+ 60\*alpha[^<]*)</td>", page)
    assert long.replace(" ", "") in re.sub(r"\s", "", text)
    assert "where 0.76069 is a root of 4*alpha^3 - alpha - 1<" in page
    assert "(21 terms; the JSON answer has all)" in page


def test_a_page_of_a_thousand_claims_and_ten_thousand_outputs_is_small():
    rows = tuple((str(i), Amount(f"1/{i}", str(1 / i))) for i in range(1, 10_001))
    table = Outcome(
        Value(Amount("10000", "10000"), None, Table("t", ("x", "p"), rows)), Coverage(1)
    )
    answers = [answer(f"dp({i})", violated("Y"), line=i) for i in range(1, 1000)]
    text = html_text(Summary((*answers, answer("pmf", table, "compute")), ()), HERE)
    assert text.count("<article") == 1000
    assert len(text) < 4_000_000


def test_a_chain_is_drawn_with_all_its_arrows_apart_and_in_the_drawing():
    nodes = tuple(Node(f"s{i}", None, i == 0) for i in range(40))
    edges = tuple((i, j, "1/3") for i in range(40) for j in (i, (i + 1) % 40, (7 * i + 2) % 40))
    drawn = chain_svg("chain", Graph(nodes, edges))
    width, height = map(float, re.search(r'viewBox="0 0 (\S+) (\S+)"', drawn).groups())
    circles = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', drawn)
    assert len(set(circles)) == 40
    assert all(0 < float(x) < width and 0 < float(y) < height for x, y in circles)
    assert drawn.count("marker-end") == len(edges)


CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

LOOK = """
<pre id="seen"></pre>
<script>
const seen = {};
let waiting = [360, 800, 1600].length;
for (const width of [360, 800, 1600]) {
  const frame = document.createElement("iframe");
  frame.style = `width: ${width}px; height: 900px; border: 0`;
  frame.srcdoc = PAGE;
  frame.onload = () => {
    const page = frame.contentDocument;
    const boxes = [...page.querySelectorAll(".scroll")];
    seen[width] = {
      overflow: page.documentElement.scrollWidth - width,
      heading: page.querySelector("h1").textContent,
      scripts: page.scripts.length,
      unlabelled: boxes.filter((box) => !box.getAttribute("aria-label")).length,
      smallest: Math.min(...[...page.querySelectorAll("td")].map((td) => td.clientWidth)),
    };
    if (--waiting === 0) document.getElementById("seen").textContent = JSON.stringify(seen);
  };
  document.body.append(frame);
}
</script>
"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed: apt-get install chromium")
def test_a_browser_shows_the_page_at_every_width(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(GOLDEN)
    text = page_of(["formats.dpm", "--max-states", "2000"], capsys)
    page = json.dumps(text).replace("</", "<\\/")
    (tmp_path / "look.html").write_text(f"<body>{LOOK.replace('PAGE', page)}</body>", "utf-8")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000"]
    options += [f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    place = (tmp_path / "look.html").as_uri()
    shown = subprocess.run(
        [CHROMIUM, *options, place], capture_output=True, text=True, timeout=100, check=True
    )
    seen = json.loads(unescape(re.search(r'<pre id="seen">(.*?)</pre>', shown.stdout)[1]))
    assert set(seen) == {"360", "800", "1600"}
    for width, found in seen.items():
        assert found["overflow"] <= 0, width
        assert found["heading"] == "dpcheck"
        assert found["scripts"] == 0
        assert found["unlabelled"] == 0
        assert found["smallest"] > 0
