# SPDX-License-Identifier: Apache-2.0
"""The cache in the user's folder, which is on by default: its location, safety and faults."""

import concurrent.futures
import errno
import os
import pathlib
import stat
import sys
import warnings

import numpy as np
import pytest

from olympus_ir import lax
from olympus_ir.diagnostics import monitoring
from olympus_ir.lax.callbacks import pure_callback
from olympus_ir.settings import config_cache_flags as flags
from olympus_xla import clear_caches, jit
from olympus_xla.compiling import (
    cache_folder,
    cache_key,
    cache_store,
    cache_usage,
    compilation_cache,
)
from olympus_xla.compiling.compile_options import compile_options
from olympus_xla.compiling.compiler import compiled_programs
from olympus_xla.foreign import ffi

X = np.linspace(0.0, 1.0, 12, dtype=np.float32).reshape(3, 4)

needs_owners = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")

# Prints the value, and whether it came from disk.
PROGRAM = """
import numpy as np
from olympus_ir import lax
from olympus_xla import jit
from olympus_xla.compiling.compiler import compiled_programs
print(float(jit(lambda x: lax.reduce_sum(lax.sin(x), (0,)))(np.ones(3, np.float32))))
print(compiled_programs[-1].from_disk)
"""
VALUE = "2.5244"


@pytest.fixture
def folder(tmp_path):
    """The user's cache folder, empty; flags have their defaults."""
    clear_caches()
    compilation_cache.reset_cache()
    flags.cache_dir.update(os.fspath(tmp_path / "olympus"))
    yield tmp_path / "olympus"
    flags.cache_dir.update(None)
    for flag in (flags.compilation_cache_max_size, flags.persistent_cache_min_compile_time_secs):
        flag.update(flag.default)
    flags.enable_compilation_cache.update(True)
    compilation_cache.reset_cache()
    clear_caches()


def entries(folder):
    return sorted((folder / "executables").glob("*-cache"))


def call(function=None):
    """Compiles and calls a function; returns whether it was on disk."""
    clear_caches()
    result = jit(function or (lambda x: lax.sin(x)))(X)
    if function is None:
        np.testing.assert_allclose(result, np.sin(X), rtol=1e-6)
    return compiled_programs[-1].from_disk


def call_warned(match):
    """Compiles and calls functions; asserts that there is one warning."""
    with pytest.warns(UserWarning, match=match) as caught:
        found = call()
        call(lambda x: lax.cos(x))
        call(lambda x: lax.tan(x))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    return found


# ---- use ----


def test_cache_is_on_by_default(folder):
    assert not call()
    assert len(entries(folder)) == 1
    assert call()
    assert len(entries(folder)) == 1


def test_only_the_user_can_read_and_write(folder):
    call()
    for path in (folder, folder / "executables"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert stat.S_IMODE(entries(folder)[0].stat().st_mode) == 0o600


def test_cache_is_shared_between_processes(run_python, tmp_path):
    place = {"HOME": os.fspath(tmp_path), "LOCALAPPDATA": os.fspath(tmp_path), "XDG_CACHE_HOME": ""}
    first, second = (run_python(PROGRAM, **place).split() for _ in range(2))
    assert first[0][: len(VALUE)] == VALUE and first[0] == second[0]
    assert (first[1], second[1]) == ("False", "True")
    if sys.platform == "linux":
        assert len(entries(tmp_path / ".cache" / "olympus")) == 1
    off = run_python(PROGRAM, **place, OLYMPUS_ENABLE_COMPILATION_CACHE="0").split()
    assert off[1] == "False"
    elsewhere = run_python(PROGRAM, **place, OLYMPUS_CACHE_DIR=os.fspath(tmp_path / "x")).split()
    assert elsewhere[1] == "False"
    assert len(entries(tmp_path / "x")) == 1


def test_locations_follow_environment_variables(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert flags.cache_dir.value is None
    if os.name == "nt":
        pytest.skip("Windows has no XDG_CACHE_HOME")
    assert cache_folder.folder_location() == pathlib.Path("/caches/olympus")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored, says the specification
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache_folder.folder_location() == pathlib.Path("/home/me/.cache/olympus")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache_folder.folder_location() == pathlib.Path("/home/me/Library/Caches/olympus")


def test_directory_named_by_flag_takes_its_place(folder, tmp_path):
    flags.compilation_cache_dir.update(os.fspath(tmp_path / "named"))
    flags.persistent_cache_min_compile_time_secs.update(0.0)
    try:
        call()
        assert compilation_cache.is_initialized()
    finally:
        flags.compilation_cache_dir.update(None)
    assert len(list((tmp_path / "named").iterdir())) == 1
    assert not folder.exists()


def test_either_flag_switches_the_cache_off(folder):
    flags.enable_compilation_cache.update(False)
    call()
    flags.enable_compilation_cache.update(True)
    flags.compilation_cache_max_size.update(0)
    call()
    assert not folder.exists()
    flags.compilation_cache_max_size.update(10**6)
    flags.persistent_cache_min_compile_time_secs.update(1000.0)
    call()
    assert entries(folder) == []


def test_listeners_and_explanations_are_not_disturbed(folder, caplog):
    events = []
    monitoring.register_event_listener(events.append)
    try:
        call()
        call()
    finally:
        monitoring.unregister_event_listener(events.append)
    assert [event for event in events if "cache" in event] == []
    assert not compilation_cache.is_initialized()


def test_hits_and_misses_are_counted(run_python, tmp_path):
    place = {"OLYMPUS_CACHE_DIR": os.fspath(tmp_path)}
    for _ in range(3):
        run_python(PROGRAM, **place)
    assert cache_usage.total_usage(tmp_path / "executables") == (2, 1)


# ---- programs that have no entry ----


def test_callbacks_are_not_stored(folder):
    call(lambda x: pure_callback(np.sin, X, x))
    assert entries(folder) == []


def test_unknown_foreign_calls_are_not_stored(folder):
    def of(target, **options):
        call = ffi.ffi_call(target, X, **options)
        return jit(lambda x: call(x)).lower(X)

    known, unknown = of("lapack_known_ffi"), of("unknown_routine")
    devices = known._lowering.placement.devices
    for lowered, has_key in ((known, True), (unknown, False)):
        key = cache_key.executable_key(
            lowered.compiler_ir(),
            devices,
            compile_options([device.id for device in devices]),
            is_asked_for=False,
        )
        assert (key is not None) == has_key


def test_executables_for_inspection_are_compiled(folder):
    def lines(program):
        clear_caches()
        text = jit(program).lower(X).compile().as_text()
        return {part for part in text.split() if part.startswith("line=")}

    def here(x):
        return lax.sin(x)

    def there(x):
        return lax.sin(x)

    there.__name__ = "here"
    # From disk, the second one would have the lines of the first one.
    one, other = [lines(program) for program in (here, there)]
    assert one != other
    assert entries(folder) == []


# ---- size ----


def test_the_folder_is_bounded(folder, monkeypatch):
    cache = cache_store.UserCache()
    monkeypatch.setattr(cache_store, "_MOST_BYTES", 3300)
    monkeypatch.setattr(cache_store, "_WRITES_PER_SEARCH", 1)
    paths = [cache.path_of("f", f"{number:064x}") for number in range(5)]
    contents = os.urandom(1000)
    for age, path in enumerate(paths[:4]):
        cache.put(path, contents)
        os.utime(path, (1000 + age, 1000 + age))
        if age == 2:
            assert cache.get(paths[0]) == (contents, 0.0)
            os.utime(paths[0], (2000, 2000))
    assert entries(folder) == [paths[0], paths[2], paths[3]]
    monkeypatch.setattr(cache_store, "_MOST_ENTRIES", 2)
    cache.put(paths[4], b"")
    assert entries(folder) == [paths[0], paths[4]]
    flags.compilation_cache_max_size.update(100_000)
    monkeypatch.setattr(cache_store, "_MOST_ENTRIES", 5)
    for path in paths:
        cache.put(path, contents)
    assert len(entries(folder)) == 5


def test_eviction_runs_periodically(folder, monkeypatch):
    searches = []
    monkeypatch.setattr(cache_store.UserCache, "_evict", lambda *a, **k: searches.append(a))
    cache = cache_store.UserCache()
    for number in range(256):
        cache.put(cache.path_of("f", f"{number:064x}"), b"")
    assert len(searches) == 256 // cache_store._WRITES_PER_SEARCH


# ---- folders that are refused ----


@needs_owners
def test_writable_folders_are_refused(folder):
    folder.mkdir()
    for mode in (0o770, 0o702):
        compilation_cache.reset_cache()
        folder.chmod(mode)
        call_warned(r"other users can write to .*olympus \(mode 07.*chmod go-w")
    assert list(folder.iterdir()) == []
    folder.chmod(0o755)  # others may read
    compilation_cache.reset_cache()
    call()
    assert len(entries(folder)) == 1


def test_links_are_refused(folder, tmp_path):
    (tmp_path / "real").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "real")
    call_warned("olympus is a symbolic link")
    assert list((tmp_path / "real").iterdir()) == []


def test_links_inside_are_refused(folder, tmp_path):
    (tmp_path / "real").mkdir(mode=0o700)
    folder.mkdir(mode=0o700)
    (folder / "executables").symlink_to(tmp_path / "real")
    call_warned("executables is a symbolic link")
    assert list((tmp_path / "real").iterdir()) == []


@needs_owners
def test_folders_of_other_users_are_refused(folder, monkeypatch):
    folder.mkdir(mode=0o700)
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    call_warned(f"olympus belongs to user {me}, and this process runs as user {me + 1}")


@needs_owners
def test_root_creates_no_folder_in_users_home(folder, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    real = pathlib.Path.stat

    def of_a_user(path, **options):
        status = list(real(path, **options))
        status[stat.ST_UID] = 1234
        return os.stat_result(status)

    monkeypatch.setattr(pathlib.Path, "stat", of_a_user)
    call_warned("belongs to user 1234, and this process runs as the administrator")
    assert not os.path.lexists(folder)


@needs_owners
def test_files_writable_by_others_are_refused(folder):
    call()
    (path,) = entries(folder)
    path.chmod(0o666)
    with pytest.warns(UserWarning, match="other users can write to"):
        assert not call()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600  # written anew
    compilation_cache.reset_cache()
    assert call()
    path.rename(folder / "moved")
    path.symlink_to(folder / "moved")
    with pytest.warns(UserWarning, match="is a symbolic link"):
        assert not call()


# ---- faults ----


def test_file_in_place_of_the_folder_warns(folder):
    folder.write_bytes(b"")
    call_warned("is not a directory")


def test_damaged_entries_are_compiled_again(folder):
    call()
    (path,) = entries(folder)
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole[:10], b"", whole[:-9] + b"\0" + whole[-8:]):
        path.write_bytes(damaged)
        compilation_cache.reset_cache()
        with pytest.warns(UserWarning, match="Error reading persistent compilation cache"):
            assert not call()
        assert call()
    # An undamaged file whose contents XLA cannot load.
    compilation_cache.reset_cache()
    cache_store.UserCache().put(path, b"nonsense")
    with pytest.warns(UserWarning, match="Error reading persistent compilation cache"):
        assert not call()
    assert call()


def test_a_full_disk(folder, monkeypatch):
    class Full:
        def __init__(self, descriptor, *mode):
            self.descriptor = descriptor

        def __enter__(self):
            return self

        def __exit__(self, *error):
            os.close(self.descriptor)

        def write(self, contents):
            os.write(self.descriptor, contents[:100])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fdopen", Full)
    call_warned("Error writing persistent compilation cache entry .* No space left")
    assert list((folder / "executables").iterdir()) == []


def test_a_folder_that_cannot_be_written(folder, monkeypatch):
    call()

    def refuse(*args, **options):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(cache_store.tempfile, "mkstemp", refuse)
    monkeypatch.setattr(os, "utime", refuse)
    assert call()  # what is there is used
    with pytest.warns(UserWarning, match="Error writing persistent .* Read-only") as caught:
        call(lambda x: lax.cos(x))
        call(lambda x: lax.tan(x))
    assert len(caught) == 1


def test_a_parent_that_cannot_be_written(folder, monkeypatch):
    def refuse(path, *args):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))

    monkeypatch.setattr(os, "mkdir", refuse)
    call_warned("compiled programs are not kept on disk: .*Permission denied")


def test_no_home_directory(monkeypatch):
    clear_caches()
    compilation_cache.reset_cache()
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    call_warned("this user has no home directory; set OLYMPUS_CACHE_DIR")
    compilation_cache.reset_cache()


def test_warnings_as_errors_do_not_end_process(folder, caplog):
    folder.write_bytes(b"")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call()
    assert "is not a directory" in caplog.text


def test_inspectable_executables_are_stored(folder):
    flags.persistent_cache_min_compile_time_secs.update(0.0)

    def compiled():
        return jit(lambda x: lax.sin(x)).lower(X).compile()

    compiled(), compiled()
    assert not compiled_programs[-1].from_disk
    before = flags.compilation_cache_include_metadata_in_key.swap_local(True)
    try:
        first, second = [compiled() for _ in range(2)]
    finally:
        flags.compilation_cache_include_metadata_in_key.set_local(before)
    assert [program.from_disk for program in list(compiled_programs)[-2:]] == [False, True]
    assert "test_user_cache.py" in second.runtime_executable().hlo_modules()[0].to_string()
    np.testing.assert_array_equal(first(X), second(X))


def test_killed_while_writing(run_python, tmp_path):
    place = {"OLYMPUS_CACHE_DIR": os.fspath(tmp_path)}
    killed = """
import os, signal
class Half:
    def __init__(self, descriptor, mode):
        self.descriptor = descriptor
    def __enter__(self):
        return self
    def __exit__(self, *error):
        pass
    def write(self, contents):
        os.write(self.descriptor, contents[: len(contents) // 2])
        os.kill(os.getpid(), signal.SIGKILL)
os.fdopen = Half
"""
    done = run_python(killed + PROGRAM, check=False, **place)
    assert done.returncode == -9
    (half,) = (tmp_path / "executables").iterdir()
    assert half.name.endswith(".unfinished") and half.stat().st_size
    first, second = (run_python(PROGRAM, **place).split() for _ in range(2))
    assert first[0][: len(VALUE)] == VALUE
    assert (first[1], second[1]) == ("False", "True")


def test_concurrent_writers_leave_whole_entries(run_python, tmp_path):
    code = """
import numpy as np
from olympus_ir import lax
from olympus_xla import jit
from olympus_xla.compiling.compiler import compiled_programs
for n in range(6):
    assert jit(lambda x: lax.add(x, float(n)))(np.float32(1)) == 1 + n
print(sum(program.from_disk for program in compiled_programs))
"""
    place = {"OLYMPUS_CACHE_DIR": os.fspath(tmp_path), "PYTHONWARNINGS": "error"}
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for result in [pool.submit(run_python, code, **place) for _ in range(4)]:
            result.result()
    assert run_python(code, **place) == "6"
    assert len(entries(tmp_path)) == 6
    assert not list(tmp_path.rglob("*.unfinished"))
