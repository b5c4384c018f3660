"""The time that one image may take, inside one call of libvips too."""

from __future__ import annotations

import pytest

from pixlane.errors import DeadlineExceeded
from pixlane.imaging.deadline import Deadline


@pytest.mark.timeout(30)
def test_one_long_call_of_libvips_is_stopped_by_its_progress() -> None:
    import pyvips

    deadline = Deadline(0.2)
    endless = deadline.attach(pyvips.Image.gaussnoise(200_000, 200_000))  # minutes
    with pytest.raises(pyvips.Error):
        endless.avg()
    with pytest.raises(DeadlineExceeded) as caught:
        deadline.check()
    assert caught.value.limit == 0.2
    assert caught.value.actual >= 0.2
