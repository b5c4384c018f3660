"""What the pages say in JavaScript, run by Debian's `nodejs`."""

from __future__ import annotations

import json
import re
import subprocess

from pixlane import Recipe
from tests.readme import ROOT


def test_javascript_makes_the_same_fingerprint_for_any_recipe() -> None:
    text = (ROOT / "docs" / "redis.md").read_text()
    (program,) = re.findall(r"```js\n(.*?)```", text, re.DOTALL)
    rows = re.findall(r"\| `(\{.*?\})` \| `([0-9a-f]{16})` \|", text)
    for fields, fingerprint in rows:
        recipe = json.dumps(Recipe.from_dict(json.loads(fields)).to_dict())
        said = subprocess.run(["node", "-e", program, "-", recipe], capture_output=True, text=True, check=True, timeout=20).stdout
        assert said.strip() == fingerprint, fields
