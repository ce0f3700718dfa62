# SPDX-License-Identifier: Apache-2.0
"""Pictures of the gallery: small files in the folder that the command line names."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
from PIL import Image

matplotlib.use("agg")  # draws into files: no screen is needed

import matplotlib.pyplot as plt


def figure(columns=1, rows=1, size=(6, 3.6), **options):
    """Returns a figure and its axes."""
    return plt.subplots(rows, columns, figsize=size, layout="constrained", **options)


def save(drawing, name):
    """Saves a figure as ``name.png``, with 64 colors: a file of some tens of kilobytes."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    path = folder / f"{name}.png"
    drawing.savefig(path, dpi=80)
    with Image.open(path) as image:
        image.convert("RGB").quantize(64).save(path, optimize=True)
    print(f"{name}: {path}, {path.stat().st_size / 1000:.0f} kB")
