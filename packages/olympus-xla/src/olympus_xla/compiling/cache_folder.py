# SPDX-License-Identifier: Apache-2.0
"""The user's cache folder: its location, and checks that only the owner can write to it.

Loading an executable runs its machine code. The folder is therefore used only if nobody else
(except the administrator) could have written to it. It must be a real directory, owned by the user
of this process, and not writable by the group or by others. Each file is checked in the same way
when it is opened.
"""

from __future__ import annotations

import logging
import os
import stat
import sys
from pathlib import Path

from olympus_ir.diagnostics.user_warnings import warn_user
from olympus_ir.settings import config_cache_flags as flags
from olympus_ir.settings.naming import logger_name

__all__ = ["CacheFolderError", "check_file", "folder_location", "prepared_folder", "warn_quietly"]

# Windows lacks POSIX owners and modes. There, other users cannot write to a user's profile.
_HAS_OWNERS = hasattr(os, "geteuid")
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class CacheFolderError(OSError):
    """Error for a cache folder that must not be used.

    The message gives the reason and the repair.
    """


def folder_location() -> Path:
    """Returns the path of the user's cache folder, which may not exist.

    The path is the value of the flag ``olympus_cache_dir`` (``OLYMPUS_CACHE_DIR`` in the
    environment). Otherwise it is ``olympus`` in ``XDG_CACHE_HOME``, or in the platform's folder for
    caches: ``~/.cache``, ``~/Library/Caches`` on macOS, ``%LOCALAPPDATA%`` on Windows.

    Raises:
      CacheFolderError: the user has no home directory.
    """
    chosen = flags.cache_dir.value
    if chosen:
        return Path(os.path.abspath(os.path.expanduser(chosen)))
    base = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME", "")
    if os.path.isabs(base):  # the XDG specification ignores relative paths
        return Path(base, "olympus")
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        raise CacheFolderError(
            "this user has no home directory; set OLYMPUS_CACHE_DIR to a folder for the cache"
        )
    if os.name == "nt":
        return Path(home, "AppData", "Local", "olympus")
    return Path(
        home, *(("Library", "Caches") if sys.platform == "darwin" else (".cache",)), "olympus"
    )


def prepared_folder(name: str) -> Path:
    """Returns a folder inside the user's cache folder. Creates both if necessary.

    Args:
      name: the name of the inner folder.

    Raises:
      CacheFolderError: one of the folders is not safe to use.
      OSError: one of the folders cannot be created.
    """
    folder = folder_location()
    if not folder.exists():
        _check_parent(folder)
    for path in (folder, folder / name):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            pass
        check_folder(path)
    return folder / name


def check_folder(path: Path) -> None:
    """Checks that a folder is a directory to which only this user can write.

    Raises:
      CacheFolderError: the folder fails the check.
      FileNotFoundError: the folder does not exist.
    """
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        raise CacheFolderError(
            f"{path} is a symbolic link; set OLYMPUS_CACHE_DIR to the directory itself"
        )
    if not stat.S_ISDIR(status.st_mode):
        raise CacheFolderError(f"{path} is not a directory; remove it or set OLYMPUS_CACHE_DIR")
    _check_owner(path, status, "chmod go-w")


def warn_quietly(message: str) -> None:
    """Warns of a failure of the user's folder. Warning filters cannot make the warning an error."""
    try:
        warn_user(message)
    except UserWarning:
        logging.getLogger(logger_name("compilation_cache")).warning("%s", message)


def check_file(path: Path, status: os.stat_result) -> None:
    """Checks that a file is a regular file to which only this user can write.

    Args:
      path: the path, for messages.
      status: the status of the open file.

    Raises:
      CacheFolderError: the file fails the check.
    """
    if not stat.S_ISREG(status.st_mode):
        raise CacheFolderError(f"{path} is not an ordinary file; remove it")
    _check_owner(path, status, "rm")


def _check_owner(path: Path, status: os.stat_result, remedy: str) -> None:
    if not _HAS_OWNERS:
        return
    user = os.geteuid()
    if status.st_uid != user:
        raise CacheFolderError(
            f"{path} belongs to user {status.st_uid}, and this process runs as user {user}; set "
            "OLYMPUS_CACHE_DIR to a folder of your own"
        )
    if status.st_mode & _WRITABLE_BY_OTHERS:
        mode = stat.S_IMODE(status.st_mode)
        raise CacheFolderError(
            f"other users can write to {path} (mode {mode:04o}); after `{remedy} {path}` it is used"
        )


def _check_parent(folder: Path) -> None:
    """Raises if the administrator would create folders in another user's home directory.

    That user could not write to the folders later.
    """
    if not _HAS_OWNERS or os.geteuid() != 0:
        return
    parent = next(parent for parent in folder.parents if parent.exists())
    owner = parent.stat().st_uid
    if owner != 0:
        raise CacheFolderError(
            f"{parent} belongs to user {owner}, and this process runs as the administrator; set "
            "OLYMPUS_CACHE_DIR to a folder of your own"
        )
