"""A real headless Chromium that keeps what pages print and ask for."""

import json
import shutil
import time
from contextlib import contextmanager

import pytest

OPTIONS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--window-size=1600,1100",
]  # fmt: skip


class Browser:
    """A driver with the few questions that tests ask."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, address):
        """Open a page, forgetting what earlier ones printed and asked for."""
        self.driver.get("about:blank")
        for kind in ("browser", "performance"):
            self.driver.get_log(kind)
        self.driver.get(address)

    def run(self, script, *arguments):
        """Run a script in the page and return what it returns."""
        return self.driver.execute_script(script, *arguments)

    def until(self, script, *arguments, seconds=90):
        """Wait until a script returns something true, and return it."""
        limit = time.monotonic() + seconds
        while True:
            found = self.run(script, *arguments)
            if found or time.monotonic() > limit:
                assert found, f"never came true: {script}"
                return found
            time.sleep(0.1)

    def picture(self, path):
        """Keep what is seen, for people to look at."""
        self.driver.save_screenshot(str(path))

    def errors(self):
        """Return the errors that pages printed since they were opened."""
        return [
            entry["message"]
            for entry in self.driver.get_log("browser")
            if entry["level"] == "SEVERE"
        ]

    def requests(self):
        """Return the addresses that were asked of a network since the page was opened."""
        messages = [
            json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")
        ]
        asked = [
            m["params"]["request"]["url"]
            for m in messages
            if m["method"] == "Network.requestWillBeSent"
        ]
        return [
            address
            for address in asked
            if not address.startswith(("file:", "data:", "blob:", "about:"))
        ]

    @contextmanager
    def frame(self):
        """Go into the page's only frame for the time of the body."""
        self.driver.switch_to.frame(0)
        yield
        self.driver.switch_to.default_content()


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Chromium, or a skip that says what is missing."""
    selenium = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (program and driver):
        pytest.skip("needs Chromium: apt-get install chromium chromium-driver")
    options = selenium.ChromeOptions()
    options.binary_location = program
    for option in [*OPTIONS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"]:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    running = selenium.Chrome(options, selenium.ChromeService(driver))
    yield Browser(running)
    running.quit()
