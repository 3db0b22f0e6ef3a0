"""The report in Chromium: offline, without console messages, on a phone, and in print."""

import base64
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from sklearn.datasets import load_wine

from rekmeans import RectifiedEulerKMeans
from rekmeans.analysis.summary import summary
from rekmeans.html_report.html import render_page

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
DRIVER = shutil.which("chromedriver")
NAME = "<script>document.title='broken'</script>"
A4 = (210 - 2 * 14, 297 - 2 * 15)  # mm inside the margins
MM = 96 / 25.4  # CSS pixels


def tables():
    random = np.random.default_rng(0)
    (wine, classes) = load_wine(return_X_y=True)
    wine[random.random(wine.shape) < 0.05] = np.nan
    wine[random.random(wine.shape) < 0.04] *= 40
    yield (
        "wine",
        wine,
        3,
        {"y": classes, "names": [NAME, *(f"column {j}" for j in range(1, 13))], "title": NAME},
    )
    yield "many", random.normal(size=(1500, 100)), 26, {"y": random.integers(0, 26, 1500)}
    yield "one column", random.normal(size=(50, 1)), 10, {}


@pytest.fixture(scope="module", params=[pytest.param(table[1:], id=table[0]) for table in tables()])
def report(request, tmp_path_factory):
    """Return the address of a report, and its text."""
    X, k, more = request.param
    text = render_page(summary(RectifiedEulerKMeans(k, random_state=0).fit(X), X, **more))
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(text, encoding="utf-8")
    return path.as_uri(), text


@pytest.fixture(scope="module")
def browser():
    webdriver = pytest.importorskip("selenium.webdriver")
    if not (CHROMIUM and DRIVER):
        pytest.skip("chromium or chromedriver is not on this machine")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars", "--disable-gpu"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER)) as driver:
        yield driver


def open_page(browser, address, width=1200, media="screen", scheme="light"):
    """Open the page without a network, and return the function that runs scripts on it."""
    send = browser.execute_cdp_cmd
    send("Network.enable", {})
    offline = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    send("Network.emulateNetworkConditions", offline)
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    send("Emulation.setDeviceMetricsOverride", size)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    send("Emulation.setEmulatedMedia", {"media": media, "features": features})
    browser.get_log("browser"), browser.get_log("performance")
    browser.get(address)
    return browser.execute_script


def test_it_loads_without_network_requests_or_console_messages(browser, report):
    run_script = open_page(browser, report[0])
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [
        e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"
    ]
    assert [address for address in asked if not address.startswith("data:")] == [report[0]]
    assert run_script("return performance.getEntriesByType('resource').length") == 0
    assert browser.get_log("browser") == []
    assert run_script("return document.querySelectorAll('figure svg').length") == report[1].count(
        "<svg"
    )


def test_names_from_the_table_show_as_text(browser, report):
    run_script = open_page(browser, report[0])
    assert run_script("return document.querySelectorAll('script').length") == 0
    assert browser.title != "broken"
    if NAME in browser.title:
        assert NAME in run_script("return document.querySelector('h1').innerText")
        assert NAME in run_script(
            "return [...document.querySelectorAll('td')].map(cell => cell.innerText)"
        )


def test_on_a_phone_nothing_scrolls_sideways_and_figures_are_readable(browser, report):
    run_script = open_page(browser, report[0], width=390)
    assert run_script("return document.documentElement.scrollWidth") == 390
    wide = (
        "return Math.max(...[...document.querySelectorAll('figure svg')].map(s => "
        "s.getBoundingClientRect().right))"
    )
    assert run_script(wide) <= 390
    sizes = """return [...document.querySelectorAll('figure svg text')]
        .filter(t => t.textContent.trim())
        .map(t => parseFloat(getComputedStyle(t).fontSize) * t.getScreenCTM().a || 99)"""
    assert np.quantile(run_script(sizes), 0.1) > 6.5  # CSS pixels, as drawn


def test_text_has_contrast_in_light_and_dark_mode(browser, report):
    colours = (
        "const s = getComputedStyle(document.querySelector('figure svg text')); return [s.fill, %s]"
    )
    ground = "getComputedStyle(document.body).backgroundColor"
    backgrounds = {}
    for scheme in ("light", "dark"):
        pair = open_page(browser, report[0], scheme=scheme)(colours % ground)
        foreground, background = (
            np.array(re.findall(r"\d+", colour)[:3], float).mean() for colour in pair
        )
        assert abs(foreground - background) > 90
        backgrounds[scheme] = background
    assert backgrounds["light"] > 200 > 60 > backgrounds["dark"]


def test_figures_are_complete_in_print(browser, report, tmp_path):
    run_script = open_page(browser, report[0], width=round(A4[0] * MM), media="print")
    heights = run_script(
        "return [...document.querySelectorAll('figure')].map(f => f.getBoundingClientRect().height)"
    )
    assert max(heights) < A4[1] * MM
    breaks = run_script(
        "return [...document.querySelectorAll('figure')].map(f => getComputedStyle(f).breakInside)"
    )
    assert set(breaks) == {"avoid"}
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    if not shutil.which("pdftotext"):
        pytest.skip("pdftotext is not on this machine: the pages of the PDF were not read")
    path = tmp_path / "report.pdf"
    path.write_bytes(base64.b64decode(printed["data"]))
    pdf_text = subprocess.run(
        ["pdftotext", "-layout", path, "-"], capture_output=True, text=True, check=True
    )
    pages = [re.sub(r"\s", "", page_text) for page_text in pdf_text.stdout.split("\f")]
    for figure in re.findall(r"<svg.*?</svg>", report[1], flags=re.DOTALL):
        words = [re.sub(r"\s", "", t.text) for t in ET.fromstring(figure).iter("text") if t.text]
        assert any(all(word in page_text for word in words) for page_text in pages), words
