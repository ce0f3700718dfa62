# SPDX-License-Identifier: Apache-2.0
"""Traces are written and can be read back; so can memory profiles."""

import functools
import gzip
import json
import socket
import threading
import urllib.request

import numpy as np
import pytest

from olympus_ir import lax
from olympus_xla import jit
from olympus_xla.profiling import profiler


def events(directory):
    """Start, duration and metadata of the events of a trace, by name."""
    (path,) = directory.glob("plugins/profile/*/*.xplane.pb")
    data = profiler.ProfileData.from_file(str(path))
    assert data.find_plane_with_name("/host:CPU") is not None
    # Events refer to the data without keeping it alive.
    return {
        event.name: (event.start_ns, event.duration_ns, dict(event.stats))
        for plane in data.planes
        for line in plane.lines
        for event in line.events
    }


def perfetto_names(path):
    with gzip.open(path, "rb") as file:
        return {event.get("name") for event in json.load(file)["traceEvents"]}


def annotated_program():
    @profiler.annotate_function
    def decorated(x):
        return lax.sin(x)

    @functools.partial(profiler.annotate_function, name="named", origin="test")
    def other(x):
        return lax.cos(x)

    with (
        profiler.TraceAnnotation("annotated", batch=7),
        profiler.StepTraceAnnotation("train", step_num=3),
    ):
        decorated(other(jit(lax.exp)(np.ones(3, np.float32)))).block_until_ready()
    return decorated


def test_traces_contain_annotations(tmp_path):
    with profiler.trace(tmp_path):
        function = annotated_program()
    assert function.__name__ == "decorated"
    found = events(tmp_path)
    assert {"annotated", "train", "decorated", "named"} <= set(found)
    (outer, outer_time, outer_data), (inner, inner_time, inner_data) = (
        found["annotated"],
        found["train"],
    )
    assert outer <= inner < inner + inner_time <= outer + outer_time
    assert outer_data["batch"] == 7
    assert inner_data == {"_r": 1, "step_num": 3}
    assert found["named"][2]["origin"] == "test"
    (path,) = tmp_path.glob("plugins/profile/*/*.trace.json.gz")
    assert {"annotated", "train", "decorated", "named"} <= perfetto_names(path)


def test_start_and_stop(tmp_path):
    with pytest.raises(RuntimeError, match="No profile started"):
        profiler.stop_trace()
    options = profiler.ProfileOptions()
    options.python_tracer_level = 0
    profiler.start_trace(str(tmp_path), create_perfetto_trace=True, profiler_options=options)
    with pytest.raises(RuntimeError, match="Profile has already been started"):
        profiler.start_trace(tmp_path)
    annotated_program()
    profiler.stop_trace()
    with pytest.raises(RuntimeError, match="No profile started"):
        profiler.stop_trace()
    (path,) = tmp_path.glob("plugins/profile/*/perfetto_trace.json.gz")
    assert "annotated" in perfetto_names(path)
    assert not any("test_profiler.py" in str(name) for name in perfetto_names(path))


def test_errors_end_a_trace(tmp_path):
    with pytest.raises(ZeroDivisionError), profiler.trace(tmp_path):
        raise ZeroDivisionError
    assert events(tmp_path)


def test_the_perfetto_link_serves_the_trace(tmp_path, capsys):
    def fetch():
        while True:
            try:
                with urllib.request.urlopen("http://127.0.0.1:9001/perfetto_trace.json.gz") as got:
                    contents.append((got.read(), got.headers["Access-Control-Allow-Origin"]))
                return
            except OSError:
                stopped.wait(0.05)

    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", 9001)) == 0:
            pytest.skip("port 9001, which Perfetto reads from, is taken")
    contents, stopped = [], threading.Event()
    reader = threading.Thread(target=fetch, daemon=True)
    profiler.start_trace(tmp_path, create_perfetto_link=True)
    annotated_program()
    reader.start()
    profiler.stop_trace()
    reader.join(timeout=20)
    (got, origin) = contents[0]
    assert json.loads(gzip.decompress(got))["traceEvents"]
    assert origin == "https://ui.perfetto.dev"
    assert "https://ui.perfetto.dev/#!/?url=http://127.0.0.1:9001/" in capsys.readouterr().out


def test_annotations_cost_nothing_without_a_trace():
    assert profiler.annotate_function(lambda x: x + 1)(1) == 2
    assert not profiler.TraceAnnotation.is_enabled()


def test_memory_profiles_show_live_arrays(tmp_path):
    array = jit(lambda: lax.full((1000, 1000), 1.0, np.float32))()
    profile = gzip.decompress(profiler.device_memory_profile())
    assert b"allocations" in profile
    profiler.save_device_memory_profile(tmp_path / "memory.prof", backend="cpu")
    assert gzip.decompress((tmp_path / "memory.prof").read_bytes())
    del array


def test_servers_start_and_stop_once():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ValueError, match="No active profiler server"):
        profiler.stop_server()
    assert profiler.start_server(port) is not None
    with pytest.raises(ValueError, match="Only one profiler server can be active"):
        profiler.start_server(port)
    profiler.stop_server()
    with pytest.raises(ValueError, match="No active profiler server"):
        profiler.stop_server()
