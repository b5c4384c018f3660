"""Writes `catalog.json` from the model table inside the `litellm` package and the rows below.

    python -m venv /tmp/litellm && /tmp/litellm/bin/pip install --no-deps litellm
    python -m pixlane.messages.catalog_build /tmp/litellm/lib/python3*/site-packages

Kept of each chat model is one thing: whether it takes images. A model of which the table does not say it is left out.
"""

from __future__ import annotations

import datetime
import json
import re
import sys
from pathlib import Path
from typing import Any

from pixlane.messages.catalog import plain_model, plain_provider

TABLE = "model_prices_and_context_window_backup.json"
MODES = ("chat", "responses", "completion")

OWN: dict[str, dict[str, list[str]]] = {
    # Named as a model that cannot see by the change that gave Hermes Agent its one gate (2026-10-06).
    "deepseek": {"blind": ["deepseek-v3.2"]},
    # MiniMax-AI/cli#225: M2.x is text only in chat; as in profiles.json.
    "minimax": {"blind": ["minimax-m2", "minimax-m2.1", "minimax-m2.5"]},
}
"""What the table does not say."""


def main(arguments: list[str]) -> None:
    packages = Path(arguments[0])
    version = next(packages.glob("litellm-*.dist-info")).name.removeprefix("litellm-").removesuffix(".dist-info")
    rows = json.loads((packages / "litellm" / TABLE).read_text(encoding="utf-8"))
    catalog = {
        "as_of": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "source": f"litellm {version}, {TABLE} (MIT, Copyright (c) 2023 Berri AI), and own rows",
        "providers": built(rows),
    }
    target = Path(__file__).with_name("catalog.json")
    target.write_text(_text(catalog), encoding="utf-8")
    counts = [len(models[kind]) for models in catalog["providers"].values() for kind in models]  # type: ignore[attr-defined]
    print(f"{target}: {len(catalog['providers'])} providers, {sum(counts)} models, {target.stat().st_size:,} bytes")


def built(rows: dict[str, Any]) -> dict[str, dict[str, list[str]]]:
    """Provider to the names of the models that see, and of those that do not."""
    found: dict[str, dict[str, bool]] = {}
    contradicted: set[tuple[str, str]] = set()
    for name, row in rows.items():
        sees = _sees(row)
        if sees is None or row.get("mode") not in MODES:
            continue
        provider = plain_provider(re.sub(r"^(vertex_ai)-.*", r"\1", str(row.get("litellm_provider", ""))))
        model = _model(name, str(row["litellm_provider"]))
        if found.setdefault(provider, {}).setdefault(model, sees) is not sees:
            contradicted.add((provider, model))
    for provider, model in contradicted:
        del found[provider][model]
    for provider, kinds in OWN.items():
        for kind, models in kinds.items():
            found.setdefault(provider, {}).update(dict.fromkeys(map(plain_model, models), kind == "sees"))
    return {
        provider: {kind: sorted(model for model in models if models[model] is (kind == "sees")) for kind in ("sees", "blind")}
        for provider, models in sorted(found.items())
    }


def _sees(row: dict[str, Any]) -> bool | None:
    """What the row says, None where it says nothing or contradicts itself."""
    says = {row["supports_vision"]} if isinstance(row.get("supports_vision"), bool) else set()
    if isinstance(row.get("supported_modalities"), list):
        says.add("image" in row["supported_modalities"])
    return says.pop() if len(says) == 1 else None


def _model(name: str, provider: str) -> str:
    """The name as a caller writes it: without the table's own prefixes of provider and region."""
    first = provider.partition("-")[0]
    prefixes = {provider, first, first.removesuffix("_converse").removesuffix("_mantle"), first.removesuffix("_chat")}
    head, slash, rest = name.partition("/")
    name = rest if slash and head in prefixes else name
    return plain_model(re.sub(r"^(?:[a-z]{2}(?:-gov)?-[a-z]+-\d|us|eu|global|global-standard|\d+-month-commitment)/", "", name))


def _text(catalog: dict[str, Any]) -> str:
    """One line a provider and kind, so that a change can be read."""
    lines = []
    for provider, models in catalog["providers"].items():
        kinds = ",\n".join(f"      {json.dumps(kind)}: {json.dumps(names)}" for kind, names in models.items())
        lines.append(f"    {json.dumps(provider)}: {{\n{kinds}\n    }}")
    head = "".join(f"  {json.dumps(key)}: {json.dumps(catalog[key])},\n" for key in ("as_of", "source"))
    return "{\n" + head + '  "providers": {\n' + ",\n".join(lines) + "\n  }\n}\n"


if __name__ == "__main__":
    main(sys.argv[1:])
