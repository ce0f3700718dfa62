# SPDX-License-Identifier: Apache-2.0
"""Checks the built documentation site: pages, examples, links, search, pictures.

A headless Chromium opens the site from disk, clicks from the landing page to `numpy.einsum`, looks
at the pictures of the gallery, and runs a search. Without Chromium, this part is skipped with a
message.

Usage: python check_site.py docs/_build/html
"""

from __future__ import annotations

import inspect
import shutil
import sys
import tempfile
import urllib.parse
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import reference_notes
import reference_pages
import reference_tables


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


# Groups whose functions run on other devices or processes, or are parts of larger programs.
GROUPS_WITHOUT_EXAMPLES = {"Kernels", "Experimental", "For libraries"}
# Functions whose example needs a compiler, a server or another process.
NO_EXAMPLES = {
    "olympus.custom_derivatives.custom_vjp_primal_tree_values",
    "olympus.ffi.build_ffi_lowering_function",
    "olympus.ffi.register_ffi_target_as_batch_partitionable",
    "olympus.ffi.register_ffi_type",
    "olympus.ffi.register_ffi_type_id",
    "olympus.lax.ragged_dot_general",
    "olympus.masked",
    "olympus.profiler.register_subprocess",
    "olympus.profiler.start_server",
    "olympus.profiler.stop_server",
    "olympus.random.register_prng",
    "olympus.register_library_folder",
    "olympus.tree_util.structure_mismatch",
}


def functions_without_an_example() -> list[str]:
    """Returns the public functions whose pages have no example that runs."""
    roots = [
        root
        for group, members in reference_pages.GROUPS.items()
        if group not in GROUPS_WITHOUT_EXAMPLES
        for root in members
    ]
    modules = {module for root in roots for module in reference_pages.modules_below(root)}
    return [
        f"{entry.module}.{entry.name}"
        for module in sorted(modules)
        for entry in reference_pages.entries_of(module, modules)
        if is_function(entry.value)
        and ">>>" not in reference_pages.docstring_of(entry.value)
        and not reference_notes.flag_example(entry.name, entry.value)
    ]


def is_function(value: Any) -> bool:
    """Returns whether a public object is a function of OLYMPUS, not a class or a dtype."""
    is_dtype = hasattr(value, "dtype") and not hasattr(value, "__wrapped__")
    is_callable = callable(value) and not inspect.isclass(value)
    return is_callable and not is_dtype and reference_pages.is_own(value)


class _Targets(HTMLParser):
    """Parser of a page, which collects the targets of links and pictures, and the anchors."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and name in ("href", "src"):
                self.targets.add(value)
            elif value and name == "id":
                self.places.add(value)


def dead_ends(folder: Path) -> list[str]:
    """Returns the broken links between pages and the missing pictures, except in the reference.

    Args:
      folder: the folder of the site.
    """
    others = {"reference", "_static"}
    files = [path for path in folder.rglob("*.html") if not others & {*path.parts}]
    pages = {path: _Targets() for path in files}
    for path, page in pages.items():
        page.feed(path.read_text("utf-8"))
    found = []
    for path, page in pages.items():
        for target in page.targets:
            parts = urllib.parse.urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = path.parent / urllib.parse.unquote(parts.path) if parts.path else path
            there = pages.get(file.resolve())
            if not file.exists() or (
                there and parts.fragment and parts.fragment not in there.places
            ):
                found.append(f"{path.relative_to(folder)}: {target}")
    return sorted(found)


def pictures_missing(folder: Path) -> list[str]:
    """Returns the programs of the gallery whose pictures the site does not show."""
    page = _Targets()
    page.feed((folder / "gallery.html").read_text("utf-8"))
    shown = {Path(target).name for target in page.targets if (folder / target).is_file()}
    scripts = (reference_tables.ROOT / "examples" / "gallery").glob("*.py")
    programs = sorted(path.stem for path in scripts if path.stem != "pictures")
    return [name for name in programs if f"{name}.png" not in shown]


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
      AssertionError: an element that a reader needs is missing.
    """
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get((folder / "index.html").as_uri())
    assert "OLYMPUS" in browser.title
    for name in ("olympus.svg", "applications.svg"):
        picture = browser.find_element(By.CSS_SELECTOR, f"img[src*='{name}']")
        assert browser.execute_script("return arguments[0].naturalWidth > 0", picture), name
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
    """Follows a link, even if it is outside the visible part of the page."""
    browser.execute_script("arguments[0].click()", element)


def main() -> None:
    """Checks the site in the folder on the command line."""
    folder = Path(sys.argv[1]).resolve()
    missing = names_without_a_page(folder)
    if missing:
        sys.exit(f"{len(missing)} public names have no page: {', '.join(missing[:20])}")
    if bare := set(functions_without_an_example()) ^ NO_EXAMPLES:
        sys.exit(
            "these functions have no example, or have one although NO_EXAMPLES lists them: "
            f"{', '.join(sorted(bare))}"
        )
    if lost := pictures_missing(folder):
        sys.exit(f"the gallery does not show the pictures of {', '.join(lost)}")
    if dead := dead_ends(folder):
        sys.exit("\n".join(["these links are broken:", *dead]))
    if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
        print("chromium and chromedriver are not installed: the walk through the site is skipped")
        return
    with tempfile.TemporaryDirectory() as profile:
        browser = open_browser(profile)
        try:
            walk(browser, folder)
        finally:
            browser.quit()


if __name__ == "__main__":
    main()
