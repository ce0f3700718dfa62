# SPDX-License-Identifier: Apache-2.0
"""Settings of the documentation site, which ``nox -s site`` builds."""

from __future__ import annotations

import re
import sys
import urllib.request
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tools"))

import reference_pages  # noqa: E402

project = "OLYMPUS"
author = "The OLYMPUS authors"
copyright = "The OLYMPUS authors, Apache-2.0"
root_doc = "index"
extensions = [
    "myst_nb",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
]
exclude_patterns = ["_build", "**/.ipynb_checkpoints"]

# Pages are executed notebooks. Results are cached by content, below docs/_build.
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "executed")
nb_execution_timeout = 300
nb_execution_raise_on_error = False  # a cell that fails, and does not say so, is a warning
nb_execution_show_tb = False
nb_merge_streams = True
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3


def reachable(address: str) -> bool:
    """Returns whether a site answers."""
    try:
        urllib.request.urlopen(address, timeout=5).close()
    except OSError:
        return False
    return True


# Names of Python, NumPy and SciPy link to their sites where the network reaches them.
_SITES = {
    "python": ("https://docs.python.org/3", None),
    "numpy": ("https://numpy.org/doc/stable", None),
    "scipy": ("https://docs.scipy.org/doc/scipy", None),
}
intersphinx_mapping = {
    name: site for name, site in _SITES.items() if reachable(f"{site[0]}/objects.inv")
}
default_role = "code"
python_display_short_literal_types = True

html_theme = "pydata_sphinx_theme"
html_title = "OLYMPUS"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "header_links_before_dropdown": 5,
    "navbar_align": "left",
    "show_nav_level": 1,
    "navigation_depth": 2,
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "friendly",
}
html_sidebars = {"index": [], "reference/**": []}  # thousands of pages: each would list all others
html_show_sourcelink = False

suppress_warnings = [
    "ref.python",  # several modules export one class
    "myst.xref_missing",  # links to files of the repository outside docs/
    "misc.highlighting_failure",  # messages of these errors are not Python
    "toc.not_included",  # pages of the reference are listed in tables
]


REPOSITORY = "https://github.com/olympus-arrays/olympus/blob/main/"


def adapt(app, name: str, source: list[str]) -> None:  # type: ignore[no-untyped-def]
    """Changes the text of a page where the site differs from the repository.

    Blocks that say what a cell prints are left out: the site shows what it did print. Links to
    documents outside of this folder, which have no page, lead to the repository.
    """
    text = re.sub(r"(?ms)^```output\n.*?^```\n", "", source[0])
    if "/" not in name:  # the page lies in this folder itself
        text = re.sub(r"\]\(\.\./([^)\s]+\.(?:md|cff))\)", rf"]({REPOSITORY}\1)", text)
    source[0] = text


def setup(app) -> None:  # type: ignore[no-untyped-def]
    """Writes the pages of the reference before Sphinx looks for files."""
    reference_pages.write(HERE / "reference")
    app.connect("source-read", adapt)
