"""Marks that several test files share."""

import pytest

# As whoever runs the tests, and (when that is root) also as an ordinary user made for them.
both_users = pytest.mark.parametrize("bench", ["self", "user"], indirect=True)
