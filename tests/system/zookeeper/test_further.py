"""What else is promised of a KRaft cluster: the tests of test_secured that are not of every day."""

from __future__ import annotations

import pytest

from tests.system.cluster import test_secured
from tests.system.zookeeper.left_out import taken_over
from tests.system.zookeeper.test_secured import USUAL

pytestmark = [pytest.mark.system, pytest.mark.long]

globals().update(taken_over(test_secured, but=USUAL))
