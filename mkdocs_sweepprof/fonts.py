"""Where matplotlib keeps its list of fonts: in the plugin's cache, not in the home folder of whoever builds."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def settle(cache: Path | None) -> None:
    """Import matplotlib so that its list of fonts lies below ``cache``.

    It writes this list when it is first imported, into the user's home unless told otherwise. Left alone: a process
    that has imported it already, one that says where (``MPLCONFIGDIR``), a user who has a matplotlibrc, as other
    plugins of the same build may draw by it, and a build without a cache.
    """
    if "matplotlib" in sys.modules or os.environ.get("MPLCONFIGDIR") or cache is None or _has_settings():
        return
    folder = cache / "matplotlib"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    if not os.access(folder, os.W_OK):
        return
    before = os.environ.get("MPLCONFIGDIR")
    os.environ["MPLCONFIGDIR"] = str(folder)
    try:
        import matplotlib.font_manager  # noqa: F401 - for what it does when imported
    finally:
        # It has read the variable by now; other programs that this process starts have nothing to do with it.
        if before is None:
            del os.environ["MPLCONFIGDIR"]
        else:
            os.environ["MPLCONFIGDIR"] = before


def _has_settings() -> bool:
    if os.environ.get("MATPLOTLIBRC"):
        return True
    home = Path("~").expanduser()
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return any((f / "matplotlibrc").exists() for f in (config / "matplotlib", home / ".matplotlib", Path()))
