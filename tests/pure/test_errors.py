"""Every error has its own stable code and comes back from JSON and pickle as what it was."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from pixlane import errors, normalize
from pixlane.errors import BY_CODE, PixlaneError, TooManyPixels, TruncatedInput


def test_no_two_errors_share_a_code():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, PixlaneError)]
    assert len({kind.code for kind in kinds}) == len(kinds)
    assert set(BY_CODE.values()) == set(kinds)


@pytest.mark.parametrize("code", sorted(BY_CODE))
def test_an_error_survives_json_and_pickle(code):
    error = BY_CODE[code]("the side is 9000 px, 8000 are allowed", limit=8000, actual=9000, hint="crop")
    for again in (PixlaneError.from_dict(json.loads(json.dumps(error.to_dict()))), pickle.loads(pickle.dumps(error))):
        assert type(again) is type(error)
        assert again.to_dict() == error.to_dict()
        assert str(again) == "the side is 9000 px, 8000 are allowed"


def test_a_code_of_a_newer_version_is_kept():
    error = PixlaneError.from_dict({"code": "not_invented_yet", "message": "hm", "retryable": True})
    assert error.code == "not_invented_yet"
    assert error.to_dict()["code"] == "not_invented_yet"
    assert error.retryable


def test_details_travel():
    error = TruncatedInput("the picture ends early", decoded_fraction=0.5)
    assert PixlaneError.from_dict(error.to_dict()).details == {"decoded_fraction": 0.5}


def test_only_what_the_bytes_decide_is_cacheable():
    assert TooManyPixels.cacheable
    for kind in (
        errors.DeadlineExceeded,
        errors.OutOfMemory,
        errors.StoreUnavailable,
        errors.SourceChanged,
        errors.OutputUnwritable,
    ):
        assert not kind.cacheable


@pytest.mark.parametrize("data", ["examples/images/editor.png", Path("editor.png"), None])
def test_what_is_no_bytes_is_refused_with_what_to_do(data):
    with pytest.raises(errors.InvalidArgument, match="read_bytes"):
        normalize(data)
