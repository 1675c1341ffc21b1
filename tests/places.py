"""Where tests find things."""

from __future__ import annotations

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
COLLECTIONS = REPOSITORY / "collections"
