# SPDX-License-Identifier: Apache-2.0
"""The persistent compilation cache: hits, misses and faults."""

import concurrent.futures
import logging
import os

import numpy as np
import pytest

from olympus_ir import lax
from olympus_ir.diagnostics import monitoring
from olympus_ir.lax.callbacks import pure_callback
from olympus_ir.settings import config_cache_flags as flags
from olympus_xla import _jaxlib, clear_caches, jit
from olympus_xla.compiling import cache_key, cache_store, compilation_cache
from olympus_xla.compiling.compile_options import compile_options, use_gpu_caches
from olympus_xla.compiling.compiler_passes import (
    clear_hlo_module_transformation,
    register_hlo_module_transformation,
)

X = np.ones((3, 4), np.float32)


@pytest.fixture
def cache(tmp_path):
    """Enables a cache without thresholds and returns its directory."""
    changed = {
        flags.enable_compilation_cache: True,
        flags.compilation_cache_dir: os.fspath(tmp_path / "cache"),
        flags.persistent_cache_min_compile_time_secs: 0.0,
        flags.raise_persistent_cache_errors: True,
    }
    restored = (*changed, flags.compilation_cache_max_size,
                flags.persistent_cache_min_entry_size_bytes,
                flags.compilation_cache_check_contents,
                flags.compilation_cache_include_metadata_in_key)  # fmt: skip
    before = [(flag, flag.value) for flag in restored]
    for flag, value in changed.items():
        flag.update(value)
    compilation_cache.reset_cache()
    clear_caches()
    yield tmp_path / "cache"
    for flag, value in before:
        flag.update(value)
    compilation_cache.reset_cache()
    clear_caches()


def entries(directory):
    return sorted(path.name for path in directory.glob("*")) if directory.exists() else []


def hits(caplog):
    return sum("cache hit" in record.getMessage() for record in caplog.records)


def test_second_compilation_is_a_hit(cache, caplog):
    caplog.set_level(logging.DEBUG, "olympus._src")
    assert np.allclose(jit(lambda x: lax.sin(x))(X), np.sin(X))
    (name,) = entries(cache)
    assert name.startswith("jit__lambda-")
    assert hits(caplog) == 0
    clear_caches()
    assert np.allclose(jit(lambda x: lax.sin(x))(X), np.sin(X))
    assert hits(caplog) == 1
    assert entries(cache) == [name]
    assert compilation_cache.is_initialized()


def test_cache_is_shared_between_processes(run_python, tmp_path):
    code = """
import logging, numpy as np
logging.getLogger("olympus._src.compiler").setLevel(logging.DEBUG)
seen = []
handler = logging.Handler(); handler.emit = lambda record: seen.append(record.getMessage())
logging.getLogger("olympus._src.compiler").addHandler(handler)
from olympus_ir import lax
from olympus_ir.diagnostics import monitoring
from olympus_xla import jit
print(float(jit(lambda x: lax.reduce_sum(lax.sin(x), (0,)))(np.ones(3, np.float32))))
print(sum("cache hit" in each for each in seen))
"""
    environment = {
        "OLYMPUS_ENABLE_COMPILATION_CACHE": "1",
        "OLYMPUS_COMPILATION_CACHE_DIR": os.fspath(tmp_path),
        "OLYMPUS_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    first = run_python(code, **environment).split()
    second = run_python(code, **environment).split()
    assert first[0] == second[0]
    assert (first[1], second[1]) == ("0", "1")
    other = run_python(code, **environment, XLA_FLAGS="--xla_cpu_enable_fast_math=true").split()
    assert other[1] == "0"
    dumps = run_python(code, **environment, XLA_FLAGS=f"--xla_dump_to={tmp_path / 'd'}").split()
    assert dumps[1] == "0"
    assert any((tmp_path / "d").iterdir())


def test_concurrent_processes_share_the_cache(run_python, tmp_path):
    code = """
import numpy as np
from olympus_ir import lax
from olympus_ir.diagnostics import monitoring
from olympus_xla import jit
for n in range(6):
    assert jit(lambda x: lax.add(x, float(n)))(np.float32(1)) == 1 + n
"""
    environment = {
        "OLYMPUS_ENABLE_COMPILATION_CACHE": "1",
        "OLYMPUS_COMPILATION_CACHE_DIR": os.fspath(tmp_path),
        "OLYMPUS_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "OLYMPUS_RAISE_PERSISTENT_CACHE_ERRORS": "1",
        "OLYMPUS_COMPILATION_CACHE_MAX_SIZE": "8000",
    }
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for result in [pool.submit(run_python, code, **environment) for _ in range(4)]:
            result.result()
    assert not list(tmp_path.glob("*.unfinished"))


# ---- the key ----


def key_of(function, *args, devices=None, options=None, **stage):
    lowered = jit(function).lower(*args, **stage)
    devices = devices or tuple(lowered._lowering.placement.devices)
    options = options or compile_options([device.id for device in devices])
    return cache_key.executable_key(lowered.compiler_ir(), devices, options)


def test_source_positions_are_not_part_of_key(cache):
    def here(x):
        return lax.sin(x)

    def there(x):
        return lax.sin(x)

    there.__name__ = "here"
    assert key_of(here, X) == key_of(there, X)
    flags.compilation_cache_include_metadata_in_key.update(True)
    assert key_of(here, X) != key_of(there, X)


def test_other_properties_are_part_of_the_key(cache, devices, monkeypatch):
    def function(x):
        return lax.sin(x)

    base = key_of(function, X)
    fast = compile_options([0], options={"xla_cpu_enable_fast_math": True})
    keys = [
        key_of(function, X[:2]),
        key_of(lambda x: lax.cos(x), X),
        key_of(function, X, options=fast),
        key_of(function, X, devices=(devices[1],)),
    ]
    for name, value in (
        ("XLA_FLAGS", "--xla_a=1"),
        ("LIBTPU_INIT_ARGS", "--b=2"),
        ("NPROC", "3"),
    ):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            keys.append(key_of(function, X))
    for where, what in ((_jaxlib, "build_identity"), (cache_key, "processor_identity")):
        with monkeypatch.context() as patch:
            patch.setattr(where, what, lambda: "another")
            keys.append(key_of(function, X))
    others = {"_FORMAT_VERSION": 99, "__version__": "9", "usable_processors": lambda: "another"}
    for name, value in others.items():
        with monkeypatch.context() as patch:
            patch.setattr(cache_key, name, value)
            cache_key.processor_identity.cache_clear()
            keys.append(key_of(function, X))
    cache_key.processor_identity.cache_clear()
    assert len({base, *keys}) == len(keys) + 1
    assert key_of(function, X) == base


def test_order_of_flags_is_not_part_of_key(cache, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_a=1 --xla_b=2")
    one = key_of(lax.sin, X)
    monkeypatch.setenv("XLA_FLAGS", "--xla_b=2   --xla_a=1")
    assert key_of(lax.sin, X) == one


def test_unknown_processors_have_no_key(cache, monkeypatch):
    monkeypatch.setattr(cache_key, "processor_identity", lambda: None)
    assert key_of(lax.sin, X) is None
    assert np.allclose(jit(lambda x: lax.sin(x))(X), np.sin(X))
    assert entries(cache) == []


def test_processor_features_are_part_of_the_key():
    cpuinfo = "processor : 0\nmodel name : A\nflags : sse avx\nbogomips : 1.5\n\n"
    found = cache_key._features(cpuinfo)
    assert found == "flags : sse avx\nmodel name : A"
    assert cache_key._features(cpuinfo.replace("1.5", "2.5")) == found
    assert cache_key._features(cpuinfo.replace("avx", "avx2")) != found
    assert cache_key._features("processor : 0\nbogomips : 1\n") == ""


# ---- what is not stored ----


def test_callbacks_are_not_stored(cache):
    function = jit(lambda x: pure_callback(np.sin, X, x))
    assert np.allclose(function(X), np.sin(X))
    assert entries(cache) == []


def test_unserializable_programs_are_not_stored(cache):
    def refuse(self):
        raise _jaxlib.JaxRuntimeError("UNIMPLEMENTED: `LessThan` is not serializable.")

    class Unserializable:
        serialize = refuse

    assert _jaxlib.serialize_executable(Unserializable()) is None
    # Errors to write are errors in these tests, and warnings too: nothing is to be said of it.
    for _ in range(2):
        clear_caches()
        assert jit(lambda x: lax.sort(x))(np.float32([3, 1, 2])).tolist() == [1, 2, 3]


def test_programs_with_python_passes_are_not_stored(cache):
    register_hlo_module_transformation(lambda module: None, name="nothing", platforms="cpu")
    try:
        jit(lambda x: lax.sin(x))(X)
        assert entries(cache) == []
    finally:
        clear_hlo_module_transformation("nothing", platforms="cpu")
    clear_caches()
    jit(lambda x: lax.sin(x))(X)
    assert len(entries(cache)) == 1


def test_programs_below_the_thresholds_are_not_stored(cache):
    flags.persistent_cache_min_compile_time_secs.update(1000.0)
    jit(lambda x: lax.sin(x))(X)
    assert entries(cache) == []
    flags.persistent_cache_min_compile_time_secs.update(0.0)
    flags.persistent_cache_min_entry_size_bytes.update(10**9)
    jit(lambda x: lax.cos(x))(X)
    assert entries(cache) == []


def test_either_flag_switches_the_cache_off(cache):
    flags.enable_compilation_cache.update(False)
    jit(lambda x: lax.sin(x))(X)
    flags.enable_compilation_cache.update(True)
    flags.compilation_cache_max_size.update(0)
    jit(lambda x: lax.cos(x))(X)
    assert entries(cache) == []
    assert not compilation_cache.is_initialized()


def test_set_cache_dir(cache, tmp_path):
    compilation_cache.set_cache_dir(tmp_path / "other")
    jit(lambda x: lax.sin(x))(X)
    assert len(entries(tmp_path / "other")) == 1
    assert entries(cache) == []
    compilation_cache.reset_cache()
    assert not compilation_cache.is_initialized()
    with pytest.raises(ValueError, match="cannot be at a URL"):
        compilation_cache.set_cache_dir("gs://bucket/cache")
        jit(lambda x: lax.cos(x))(X)


# ---- size ----


def test_least_recently_used_entries_are_removed_first(tmp_path, cache):
    store = compilation_cache.ProgramCache(os.fspath(cache))
    contents = os.urandom(1000)  # cannot be compressed
    flags.compilation_cache_max_size.update(3300)
    paths = [store.path_of("f", str(n)) for n in range(4)]
    for age, path in enumerate(paths[:3]):
        store.put(path, contents)
        os.utime(path, (1000 + age, 1000 + age))
    assert store.get(paths[0]) == (contents, 0.0)  # now the youngest
    store.put(paths[3], contents)
    assert entries(cache) == sorted(path.name for path in (paths[0], paths[2], paths[3]))
    store.put(store.path_of("f", "huge"), os.urandom(5000))
    assert len(entries(cache)) == 3


def test_abandoned_files_are_removed(cache):
    store = compilation_cache.ProgramCache(os.fspath(cache))
    flags.compilation_cache_max_size.update(10**6)
    store.put(store.path_of("f", "1"), b"x")
    old, young = cache / "old.unfinished", cache / "young.unfinished"
    for path in (old, young):
        path.write_bytes(b"")
    os.utime(old, (1000, 1000))
    store.put(store.path_of("f", "2"), b"x")
    assert not old.exists()
    assert young.exists()


# ---- what goes wrong ----


def test_damaged_entries_are_compiled_again(cache):
    jit(lambda x: lax.sin(x))(X)
    (path,) = cache.iterdir()
    whole = path.read_bytes()
    length = len(cache_store.MAGIC) + 4  # the place of the length, behind the checksum
    huge = whole[:length] + b"\xff" * 8 + whole[length + 8 :]
    for damaged in (whole[:10], huge, b"", whole[:-1], whole[:-1] + b"\0"):
        path.write_bytes(damaged)
        clear_caches()
        with pytest.raises(ValueError, match=r"is damaged|is not an executable of"):
            jit(lambda x: lax.sin(x))(X)
    flags.raise_persistent_cache_errors.update(False)
    clear_caches()
    with pytest.warns(UserWarning, match="Error reading persistent compilation cache entry"):
        assert np.allclose(jit(lambda x: lax.sin(x))(X), np.sin(X))
    assert path.read_bytes() != whole[:-1] + b"\0"  # written anew


def test_directories_that_cannot_be_written(cache, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    compilation_cache.set_cache_dir(tmp_path / "file")
    with pytest.raises(OSError, match="file"):
        jit(lambda x: lax.sin(x))(X)
    flags.raise_persistent_cache_errors.update(False)
    clear_caches()
    with pytest.warns(UserWarning, match="persistent compilation cache entry for 'jit__lambda'"):
        assert np.allclose(jit(lambda x: lax.sin(x))(X), np.sin(X))


def test_check_contents_flag(cache):
    function = jit(lambda x: lax.sin(x))
    function(X)
    flags.compilation_cache_check_contents.update(True)
    clear_caches()
    assert np.allclose(jit(lambda x: lax.sin(x))(X), np.sin(X))
    (path,) = cache.iterdir()
    other = jit(lambda x: lax.cos(x)).lower(X).compile().runtime_executable().serialize()
    compilation_cache.ProgramCache(os.fspath(cache)).put(path, other)
    clear_caches()
    with pytest.raises(compilation_cache.CacheContentsError, match="differs from the one compiled"):
        jit(lambda x: lax.sin(x))(X)


def test_entries_are_private_to_the_user(cache):
    jit(lambda x: lax.sin(x))(X)
    (path,) = cache.iterdir()
    assert cache.stat().st_mode & 0o077 == 0
    assert path.stat().st_mode & 0o077 == 0


def test_listeners_get_cache_events(cache):
    events, durations = [], []

    def on_duration(event, seconds, **details):
        durations.append(event)

    monitoring.register_event_listener(events.append)
    monitoring.register_event_duration_secs_listener(on_duration)
    try:
        jit(lambda x: lax.tan(x))(X)
        first, events[:] = list(events), []
        clear_caches()
        durations.clear()
        jit(lambda x: lax.tan(x))(X)
    finally:
        monitoring.unregister_event_listener(events.append)
        monitoring.unregister_event_duration_listener(on_duration)
    place = "/jax/compilation_cache/"
    told = ["tasks_using_cache", "compile_requests_use_cache", "cache_misses"]
    assert first == [place + event for event in told]
    assert events == [place + "compile_requests_use_cache", place + "cache_hits"]
    told = ["compile_time_saved_sec", "cache_retrieval_time_sec"]
    assert [event for event in durations if event.startswith(place)] == [place + t for t in told]


def test_log_lines_have_the_names_of_jax(cache, caplog):
    caplog.set_level(logging.DEBUG, "olympus._src")
    jit(lambda x: lax.tan(x))(X)
    clear_caches()
    jit(lambda x: lax.tan(x))(X)
    (entry,) = entries(cache)
    key = entry.removesuffix("-cache")
    told = [
        (record.name.removeprefix("olympus._src."), record.getMessage())
        for record in caplog.records
        if "cache" in record.getMessage().lower()
    ]
    assert told == [
        ("compilation_cache", f"Initialized persistent compilation cache at {cache}"),
        ("compiler", f"PERSISTENT COMPILATION CACHE MISS for 'jit__lambda' with key '{key}'"),
        (
            "compilation_cache",
            f"Writing jit__lambda to persistent compilation cache with key '{key}'",
        ),
        ("compiler", f"Persistent compilation cache hit for 'jit__lambda' with key '{key}'"),
    ]
    names = {record.name for record in caplog.records if "Finished" in record.getMessage()}
    assert names == {"olympus._src.dispatch"}


@pytest.mark.parametrize(
    ("named", "platform", "kept"),
    [
        ("all", "cuda", ["xla_gpu_kernel_cache_file", "xla_gpu_per_fusion_autotune_cache_dir"]),
        (None, "cuda", []),
        ("none", "cuda", []),
        ("all", "cpu", []),
        ("xla_gpu_kernel_cache_file", "rocm", ["xla_gpu_kernel_cache_file"]),
    ],
)
def test_gpus_keep_the_named_caches_of_xla(tmp_path, named, platform, kept):
    names = ("xla_gpu_kernel_cache_file", "xla_gpu_per_fusion_autotune_cache_dir")
    changed = (flags.persistent_cache_enable_xla_caches, flags.compilation_cache_dir)
    before = [flag.get_global() for flag in changed]
    options = compile_options(None)
    try:
        changed[0].update(named)
        changed[1].update(str(tmp_path))
        use_gpu_caches(options, platform)
    finally:
        for flag, value in zip(changed, before, strict=True):
            flag.update(value)
    debug = options.executable_build_options.debug_options
    assert {name: getattr(debug, name) for name in names if getattr(debug, name)} == {
        name: str(tmp_path / name) for name in kept
    }
