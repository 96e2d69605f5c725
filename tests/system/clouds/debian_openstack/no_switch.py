"""Neutron's driver in the OpenStack for tests: a port is bound wherever it is asked for. Lies in the packages' Python
there.
"""

from __future__ import annotations

from typing import Any

import neutron.db.models.port_forwarding  # noqa: F401 - see initialize
from neutron_lib import constants
from neutron_lib.plugins.ml2 import api
from sqlalchemy.orm import configure_mappers


class NoSwitch(api.MechanismDriver):  # type: ignore[misc]  # Neutron ships no types
    def initialize(self) -> None:
        """Neutron lists ports with a relation that SQLAlchemy only knows after some other query: a first question for
        ports would be answered with an error 500.
        """
        configure_mappers()

    def bind_port(self, context: Any) -> None:
        segment = context.segments_to_bind[0]
        context.set_binding(segment[api.ID], "ovs", {}, status=constants.PORT_STATUS_ACTIVE)
