"""Cinder's driver in the OpenStack for tests: volumes are rows of its database. Lies in the packages' Python there."""

from __future__ import annotations

from typing import Any

from cinder import interface
from cinder.volume import driver


@interface.volumedriver
class NoDisks(driver.VolumeDriver):  # type: ignore[misc]  # Cinder ships no types
    VERSION = "1"
    CI_WIKI_NAME = "none"

    def check_for_setup_error(self) -> None:
        """There is nothing to set up."""

    def get_volume_stats(self, *_: Any, **__: Any) -> dict[str, Any]:
        return {
            "volume_backend_name": "none",
            "vendor_name": "none",
            "driver_version": self.VERSION,
            "storage_protocol": "none",
            "total_capacity_gb": "infinite",
            "free_capacity_gb": "infinite",
        }

    def _done(self, *_: Any, **__: Any) -> None:
        """The row is the volume, and nobody connects to it."""

    create_volume = delete_volume = extend_volume = _done
    create_export = ensure_export = remove_export = terminate_connection = _done

    def initialize_connection(self, *_: Any, **__: Any) -> dict[str, Any]:
        return {"driver_volume_type": "fake", "data": {}}
