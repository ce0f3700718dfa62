# SPDX-License-Identifier: Apache-2.0
"""Several CPU devices for all tests, and a browser."""

import shutil

import pytest
from selenium import webdriver

import olympus_xla
from olympus_ir.settings.config import config
from olympus_sharding import AxisType, make_mesh
from olympus_xla.platforms import backends

if not backends.are_backends_initialized() and config.olympus_num_cpu_devices < 4:
    config.update("olympus_num_cpu_devices", 4)


@pytest.fixture
def devices():
    devices = olympus_xla.devices("cpu")
    assert len(devices) >= 4, "another test package brought up the backends with fewer devices"
    return devices


@pytest.fixture
def mesh(devices):
    return make_mesh((2, 2), ("x", "y"), (AxisType.Auto,) * 2, devices=devices)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Starts Chromium without a window, to open files; skips the test without Chromium."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("needs chromium and chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in _FLAGS.split():
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    window = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield window
    window.quit()


_FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run
--disable-background-networking --disable-component-update --disable-sync
--disable-dev-shm-usage --window-size=1300,1000"""


@pytest.fixture
def opened(browser, tmp_path):
    """Opens a report as a file; the page must raise no error and load nothing else."""

    def open_report(report):
        path = tmp_path / "report.html"
        report.save(path)
        browser.get(path.as_uri())
        loaded = "return performance.getEntriesByType('resource').length"
        assert browser.execute_script(loaded) == 0
        assert browser.get_log("browser") == []
        return browser

    return open_report
