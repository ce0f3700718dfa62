# SPDX-License-Identifier: Apache-2.0
"""Pictures of shardings."""

from __future__ import annotations

import pytest

from olympus_sharding import NamedSharding, PartitionSpec, SingleDeviceSharding, visualize_sharding
from olympus_sharding.shardings.visualization import sharding_text

P = PartitionSpec


def test_two_dimensions_are_drawn_as_a_grid(mesh):
    assert sharding_text((8, 4), NamedSharding(mesh, P("x", "y"))).splitlines() == [
        "┌───────┬───────┐",
        "│       │       │",
        "│ CPU 0 │ CPU 1 │",
        "│       │       │",
        "│       │       │",
        "├───────┼───────┤",
        "│       │       │",
        "│ CPU 2 │ CPU 3 │",
        "│       │       │",
        "│       │       │",
        "└───────┴───────┘",
    ]


def test_replicated_parts_name_all_devices(mesh):
    lines = sharding_text((4, 4), NamedSharding(mesh, P("y"))).splitlines()
    assert [line.strip("│ ") for line in lines if "CPU" in line] == ["CPU 0,2", "CPU 1,3"]
    assert len(lines[0]) == 25


def test_one_dimension_is_drawn_as_a_row(mesh, devices):
    assert sharding_text((8,), NamedSharding(mesh, P(("x", "y")))).splitlines() == [
        "┌───────┬───────┬───────┬───────┐",
        "│ CPU 0 │ CPU 1 │ CPU 2 │ CPU 3 │",
        "└───────┴───────┴───────┴───────┘",
    ]
    assert "CPU 5" in sharding_text((8,), SingleDeviceSharding(devices[5]))


def test_drawings_follow_scale_and_width(mesh):
    sharding = NamedSharding(mesh, P())
    large = sharding_text((8, 8), sharding, scale=2.0).splitlines()
    assert (len(large), len(large[0])) == (21, 50)
    wide = sharding_text((8, 800), sharding, max_width=60).splitlines()
    assert {len(line) for line in wide} == {60}
    # Labels are not cut off.
    narrow = sharding_text((800, 8), sharding, min_width=1, max_width=4).splitlines()
    assert {len(line) for line in narrow} == {len("CPU 0,1,2,3") + 2}


def test_colors_fill_the_parts(mesh):
    sharding = NamedSharding(mesh, P("x"))
    text = sharding_text((8,), sharding, colors=lambda position: (position, 0.0, 1.0, 1.0))
    assert "\x1b[48;2;0;0;255m" in text
    assert "\x1b[48;2;128;0;255m" in text
    assert text.count("\x1b[0m") == 2


def test_drawings_are_printed_without_color_codes(mesh, capsys):
    visualize_sharding((8,), NamedSharding(mesh, P("x")))
    printed = capsys.readouterr().out
    assert printed.startswith("┌")
    assert "\x1b" not in printed  # the output is no terminal
    with pytest.raises(ValueError, match="only works for shapes with 1 and 2 dimensions"):
        visualize_sharding((2, 2, 2), NamedSharding(mesh, P("x")))


def test_empty_arrays_are_drawn(mesh):
    assert "CPU 0,1,2,3" in sharding_text((0, 4), NamedSharding(mesh, P()))
