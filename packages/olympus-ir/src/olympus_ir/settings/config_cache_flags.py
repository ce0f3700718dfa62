# SPDX-License-Identifier: Apache-2.0
"""Configuration of the cache of compiled programs on disk."""

from __future__ import annotations

from .config_flags import count, text_or_none
from .configuration import declare_flag, truth, typed

enable_compilation_cache = declare_flag(
    "enable_compilation_cache", True, truth, "Keep compiled programs on disk."
)
compilation_cache_dir = declare_flag(
    "compilation_cache_dir",
    None,
    text_or_none,
    "A directory for compiled programs of all platforms; None for the user's cache folder, which "
    "holds programs for CPUs only.",
)
cache_dir = declare_flag(
    "cache_dir",
    None,
    text_or_none,
    "The user's cache folder, which only its owner may write to; None for the platform's "
    "convention, such as ~/.cache/olympus.",
)
program_cache = declare_flag(
    "program_cache",
    False,
    truth,
    "Keep programs of jitted functions on disk so that later processes need not trace them, if the "
    "function and all that it reads are provably the same.",
)
compilation_cache_max_size = declare_flag(
    "compilation_cache_max_size",
    -1,
    typed(int, -1),
    "Maximal size of the cache in bytes; 0 disables the cache, -1 sets no limit. If the flag is "
    "not set, the user's cache folder holds up to 1 GiB.",
)
compilation_cache_include_metadata_in_key = declare_flag(
    "compilation_cache_include_metadata_in_key",
    False,
    truth,
    "Compile a program again even if only source lines have changed.",
)
compilation_cache_check_contents = declare_flag(
    "compilation_cache_check_contents",
    False,
    truth,
    "Raise an error when a cached program differs from the one compiled now.",
)
compilation_cache_expect_pgle = declare_flag(
    "compilation_cache_expect_pgle",
    False,
    truth,
    "Expect the cache to hold programs compiled with profiles.",
)
persistent_cache_min_compile_time_secs = declare_flag(
    "persistent_cache_min_compile_time_secs",
    1.0,
    typed(float, 1.0),
    "Minimal compile time of cached programs, in seconds. If the flag is not set, the user's cache "
    "folder keeps all programs.",
)
persistent_cache_min_entry_size_bytes = declare_flag(
    "persistent_cache_min_entry_size_bytes", 0, count, "Minimal size of cached programs, in bytes."
)
persistent_cache_enable_xla_caches = declare_flag(
    "persistent_cache_enable_xla_caches",
    "xla_gpu_per_fusion_autotune_cache_dir",
    text_or_none,
    "XLA's own caches to keep in the same place: 'all', 'none', or names separated by commas.",
)
raise_persistent_cache_errors = declare_flag(
    "raise_persistent_cache_errors",
    False,
    truth,
    "Turn failures to read or write the cache into errors; otherwise they are warnings.",
)
remove_custom_partitioning_ptr_from_cache_key = declare_flag(
    "remove_custom_partitioning_ptr_from_cache_key",
    False,
    truth,
    "Leave the addresses of custom partitioning functions out of the cache's key.",
)
share_binary_between_hosts = declare_flag(
    "share_binary_between_hosts",
    False,
    truth,
    "With several processes, let one process compile, and the others load its executable.",
)
share_binary_between_hosts_timeout_ms = declare_flag(
    "share_binary_between_hosts_timeout_ms",
    1_200_000,
    typed(int, 1_200_000),
    "Milliseconds that processes wait for an executable that another process compiles.",
)
