"""The same real parts as in the embedded ring."""

from tests.embedded.conftest import quick as quick
from tests.embedded.conftest import start_worker as start_worker
from tests.embedded.conftest import valkey as valkey
