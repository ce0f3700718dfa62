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
    "Bytes that the cache may take, 0 for none, -1 for any number. If it is not set, the user's "
    "cache folder holds up to 1 GiB.",
)
compilation_cache_include_metadata_in_key = declare_flag(
    "compilation_cache_include_metadata_in_key",
    False,
    truth,
    "Compile again when only source lines have changed.",
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
    "Programs that compile faster are not kept. If it is not set, the user's cache folder keeps "
    "all programs.",
)
persistent_cache_min_entry_size_bytes = declare_flag(
    "persistent_cache_min_entry_size_bytes", 0, count, "Programs that are smaller are not kept."
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
    "With several processes, let one compile and the others load its result.",
)
share_binary_between_hosts_timeout_ms = declare_flag(
    "share_binary_between_hosts_timeout_ms",
    1_200_000,
    typed(int, 1_200_000),
    "Milliseconds that the other processes wait for the executable.",
)
