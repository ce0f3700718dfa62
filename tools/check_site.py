# SPDX-License-Identifier: Apache-2.0
"""Checks the built documentation site: pages of all public names, links, search, pictures.

A headless Chromium opens the site from disk, clicks from the landing page to `numpy.einsum`, looks
at the pictures of the gallery, and runs a search. Where there is no Chromium the last part is
left out, with a message.

Usage: python check_site.py docs/_build/html
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import reference_pages


def names_without_a_page(folder: Path) -> list[str]:
    """Returns the public names that have no page in the site."""
    modules = {
        module
        for roots in reference_pages.GROUPS.values()
        for root in roots
        for module in reference_pages.modules_below(root)
    }
    pages = {path.stem for path in (folder / "reference").glob("*.html")}
    return [
        entry.page
        for module in sorted(modules)
        for entry in reference_pages.entries_of(module, modules)
        if entry.page not in pages
    ]


def open_browser(profile: str) -> Any:
    """Starts a headless Chromium without access to the network."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for option in (
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        f"--user-data-dir={profile}",
    ):
        options.add_argument(option)
    options.binary_location = str(shutil.which("chromium"))
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    return webdriver.Chrome(options=options, service=service)


def walk(browser: Any, folder: Path) -> None:
    """Walks through the site as a reader does.

    Raises:
      AssertionError: something that a reader looks for is not there.
    """
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get((folder / "index.html").as_uri())
    assert "OLYMPUS" in browser.title
    picture = browser.find_element(By.CSS_SELECTOR, "img[src*='operations']")
    assert browser.execute_script("return arguments[0].naturalWidth > 0", picture)
    click(browser, browser.find_element(By.CSS_SELECTOR, "main a[href='reference/index.html']"))
    click(browser, browser.find_element(By.LINK_TEXT, "olympus.numpy"))
    click(browser, browser.find_element(By.LINK_TEXT, "einsum"))
    assert "einsum" in browser.find_element(By.TAG_NAME, "h1").text
    assert "subscripts" in browser.find_element(By.TAG_NAME, "body").text
    browser.get((folder / "gallery.html").as_uri())
    pictures = browser.find_elements(By.CSS_SELECTOR, "main img")
    assert len(pictures) >= 12, f"{len(pictures)} pictures in the gallery"
    for each in pictures:
        is_shown = browser.execute_script("return arguments[0].naturalWidth > 200", each)
        assert is_shown, each.get_attribute("src")
    browser.get((folder / "search.html").as_uri() + "?q=checkpoints")
    found = WebDriverWait(browser, 30).until(
        lambda driver: driver.find_elements(By.CSS_SELECTOR, "#search-results li a")
    )
    assert any("loop" in link.text.lower() for link in found), [link.text for link in found]


def click(browser: Any, element: Any) -> None:
    """Follows a link, wherever it lies on the page."""
    browser.execute_script("arguments[0].click()", element)


def main() -> None:
    """Checks the site in the folder that is given."""
    folder = Path(sys.argv[1]).resolve()
    missing = names_without_a_page(folder)
    if missing:
        sys.exit(f"{len(missing)} public names have no page: {', '.join(missing[:20])}")
    if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
        print("chromium and chromedriver are not installed: the walk through the site is left out")
        return
    with tempfile.TemporaryDirectory() as profile:
        browser = open_browser(profile)
        try:
            walk(browser, folder)
        finally:
            browser.quit()


if __name__ == "__main__":
    main()
