"""A real headless Chromium that records what pages print and request."""

import json
import shutil
import time
from contextlib import contextmanager

import pytest

OPTIONS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--window-size=1600,1100",
    # The logs leave out sandboxed frames that run in a separate process; pages that were left, and
    # are kept for the back button, take processor time from the one that is tested.
    "--disable-features=IsolateSandboxedIframes,BackForwardCache",
]  # fmt: skip
# What moves while a page loads takes most of the processor time of a browser without a GPU.
STILL = """
const sheet = new CSSStyleSheet()
sheet.replaceSync(`*, ::before, ::after { animation-duration: 1ms !important;
    animation-iteration-count: 1 !important; transition-duration: 1ms !important }`)
document.adoptedStyleSheets = [sheet]
"""
LOCAL = ("file:", "data:", "blob:", "about:")


class Browser:
    """A driver with the few questions that tests ask."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, address):
        """Open a page and drop the records of earlier pages."""
        self.driver.get("about:blank")
        for kind in ("browser", "performance"):
            self.driver.get_log(kind)
        self.driver.get(address)
        self.until("return document.readyState === 'complete'")

    def run(self, script, *arguments):
        """Run a script in the page and return its result."""
        return self.driver.execute_script(script, *arguments)

    def until(self, script, *arguments, seconds=90):
        """Wait until a script returns something true, and return it."""
        limit = time.monotonic() + seconds
        while True:
            result = self.run(script, *arguments)
            if result or time.monotonic() > limit:
                assert result, f"never came true: {script}"
                return result
            time.sleep(0.1)

    def picture(self, path):
        """Save a screenshot for people to look at."""
        self.driver.save_screenshot(str(path))

    def errors(self):
        """Return the errors printed since the page was opened."""
        return [
            entry["message"]
            for entry in self.driver.get_log("browser")
            if entry["level"] == "SEVERE"
        ]

    def requests(self):
        """Return the network addresses requested since the page was opened."""
        messages = [
            json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")
        ]
        addresses = [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]
        return [address for address in addresses if not address.startswith(LOCAL)]

    @contextmanager
    def frame(self, element):
        """Work inside a frame of the page."""
        self.driver.switch_to.frame(element)
        try:
            yield
        finally:
            self.driver.switch_to.default_content()


@contextmanager
def started(profile):
    """Run Chromium with a profile folder, or skip and say what is missing."""
    selenium = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    program, driver_path = shutil.which("chromium"), shutil.which("chromedriver")
    if not (program and driver_path):
        pytest.skip("needs Chromium: apt-get install chromium chromium-driver")
    options = selenium.ChromeOptions()
    options.binary_location = program
    for option in [*OPTIONS, f"--user-data-dir={profile}"]:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = selenium.Chrome(options, selenium.ChromeService(driver_path))
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": STILL})
    try:
        yield Browser(driver)
    finally:
        driver.quit()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Chromium, for the tests of a file: an open page takes processor time from those of others."""
    with started(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser
