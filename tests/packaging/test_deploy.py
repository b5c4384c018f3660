"""What lies in deploy/ fits what the code serves and the tools take: metric names, alerts, objects of Kubernetes, Flower."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
import yaml

from pixlane import settings
from pixlane.metrics import INSTRUMENTS
from pixlane.settings import environment_name
from pixlane.store.ledger import OBSERVE, longest_run_s
from tests.readme import ROOT
from tests.running import BIN, clean_environment, wait_until

DEPLOY = ROOT / "deploy"
RULES = DEPLOY / "prometheus" / "alerts.yml"
BOARD = json.loads((DEPLOY / "grafana" / "pixlane.json").read_text())
MANIFESTS = [
    document for file in sorted((DEPLOY / "kubernetes").glob("*.yaml")) for document in yaml.safe_load_all(file.read_text())
]


# Metrics -----------------------------------------------------------------------------------------------------------------


def names_in(text: str) -> set[str]:
    """The metrics that a query names, without the endings of a histogram."""
    found = set(re.findall(r"\bpixlane_\w+", text))
    return {re.sub(r"_(bucket|sum|count)$", "", name) if name not in INSTRUMENTS else name for name in found}


def queries() -> Iterator[tuple[str, str]]:
    for group in yaml.safe_load(RULES.read_text())["groups"]:
        for rule in group["rules"]:
            yield rule["alert"], rule["expr"]
    for panel in BOARD["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]
    for manifest in MANIFESTS:
        for trigger in manifest["spec"].get("triggers", ()):
            yield manifest["kind"], trigger["metadata"]["query"]


@pytest.mark.parametrize(("where", "query"), list(queries()))
def test_a_query_names_only_what_is_served_with_its_labels(where: str, query: str) -> None:
    names = names_in(query)
    assert names, where
    assert names <= set(INSTRUMENTS)
    labels = {label for name in names for label in INSTRUMENTS[name].labels}
    asked = set(re.findall(r"[{,]\s*(\w+)\s*(?:=~|=|!=)", query)) | {
        label.strip() for group in re.findall(r"by \(([^)]*)\)", query) for label in group.split(",")
    }
    assert asked <= labels | {"le", "instance"}


def test_everything_that_is_served_is_on_the_dashboard() -> None:
    shown = {name for panel in BOARD["panels"] for target in panel["targets"] for name in names_in(target["expr"])}
    assert shown == set(INSTRUMENTS)


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in BOARD["panels"]:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells


def test_prometheus_takes_the_rules() -> None:
    done = subprocess.run(["promtool", "check", "rules", RULES], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_rules_wake_somebody_when_they_should_and_let_them_sleep_otherwise(tmp_path: Path) -> None:
    quiet = {
        "pixlane_store_up": "1x30",
        "pixlane_workers": "2x30",
        "pixlane_store_memory_bytes": "100x30",
        "pixlane_store_memory_limit_bytes": "1000x30",
        'pixlane_queue_age_seconds{queue="interactive"}': "0x30",
        'pixlane_jobs_total{outcome="ok",queue="batch",code=""}': "0+600x30",
        "pixlane_swept_total": "0x30",
        "pixlane_refused_messages_total": "0x30",
    }
    loud = {
        "pixlane_store_up": "0x30",
        "pixlane_workers": "0x30",
        "pixlane_store_memory_bytes": "950x30",
        'pixlane_queue_age_seconds{queue="interactive"}': "20x30",
        'pixlane_jobs_total{outcome="error",queue="batch",code="corrupt_input"}': "0+600x30",
        'pixlane_jobs_total{outcome="spent",queue="batch",code="crashed"}': "0+1x30",
        'pixlane_jobs_total{outcome="handed_back",queue="batch",code="store_full"}': "0+1x30",
        "pixlane_swept_total": "0+10x30",
        "pixlane_refused_messages_total": "0+1x30",
        "pixlane_child_deaths_total": "0+2x30",
        "pixlane_evicted_before_fetched_total": "0+1x30",
        'pixlane_queue_age_seconds{queue="batch"}': "4000x30",
    }
    alerts = [rule["alert"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]

    def scene(values: dict[str, str], firing: bool) -> dict[str, Any]:
        expressions = [
            {
                "expr": f'count(ALERTS{{alertname="{alert}",alertstate="firing"}}) or vector(0)',
                "eval_time": "25m",
                "exp_samples": [{"value": float(firing), "labels": "{}"}],
            }
            for alert in alerts
        ]
        series = [{"series": name, "values": numbers} for name, numbers in values.items()]
        return {"interval": "1m", "input_series": series, "promql_expr_test": expressions}

    (tmp_path / "alerts.yml").write_text(RULES.read_text())
    (tmp_path / "test.yml").write_text(
        yaml.safe_dump(
            {
                "rule_files": ["alerts.yml"],
                "evaluation_interval": "1m",
                "tests": [scene(quiet, False), scene(quiet | loud, True)],
            }
        )
    )
    done = subprocess.run(["promtool", "test", "rules", "test.yml"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


# Kubernetes --------------------------------------------------------------------------------------------------------------

MODELS = {
    ("apps/v1", "Deployment"): "lightkube.models.apps_v1:Deployment",
    ("policy/v1", "PodDisruptionBudget"): "lightkube.models.policy_v1:PodDisruptionBudget",
    ("networking.k8s.io/v1", "NetworkPolicy"): "lightkube.models.networking_v1:NetworkPolicy",
}

TEXT, COUNT = {"type": "string"}, {"type": "integer", "minimum": 0}
TRIGGER = {
    "type": "object",
    "additionalProperties": False,
    "required": ["type", "metadata"],
    "properties": {
        "type": {"const": "prometheus"},
        "metricType": {"enum": ["AverageValue", "Value"]},
        "metadata": {  # of a trigger every value is a text
            "type": "object",
            "additionalProperties": False,
            "required": ["serverAddress", "query", "threshold"],
            "properties": {
                "serverAddress": TEXT,
                "query": TEXT,
                "threshold": {"type": "string", "pattern": r"^\d+(\.\d+)?$"},
                "ignoreNullValues": {"enum": ["true", "false"]},
            },
        },
    },
}
SCALED_OBJECT = {
    "type": "object",
    "additionalProperties": False,
    "required": ["apiVersion", "kind", "metadata", "spec"],
    "properties": {
        "apiVersion": {"const": "keda.sh/v1alpha1"},
        "kind": {"const": "ScaledObject"},
        "metadata": {"type": "object", "required": ["name"]},
        "spec": {
            "type": "object",
            "additionalProperties": False,
            "required": ["scaleTargetRef", "triggers"],
            "properties": {
                "scaleTargetRef": {"type": "object", "additionalProperties": False, "properties": {"name": TEXT}},
                "minReplicaCount": COUNT,
                "maxReplicaCount": COUNT,
                "pollingInterval": COUNT,
                "cooldownPeriod": COUNT,
                "fallback": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["failureThreshold", "replicas"],
                    "properties": {"failureThreshold": COUNT, "replicas": COUNT},
                },
                "advanced": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {
                        "horizontalPodAutoscalerConfig": {
                            "type": "object",
                            "additionalProperties": False,
                            "properties": {"behavior": {"type": "object"}},
                        }
                    },
                },
                "triggers": {"type": "array", "minItems": 1, "items": TRIGGER},
            },
        },
    },
}
"""The fields that are used, by https://keda.sh/docs/latest/reference/scaledobject-spec/; any other is an error."""


def whole(value: Any, form: str) -> None:
    """The object has only fields of its form, each of its type: read strictly and written again it is the same."""
    module, _, name = form.partition(":")
    model = getattr(import_module(module), name)
    read = msgspec.convert(value, model, strict=True)
    assert without_nothing(msgspec.to_builtins(read)) == value


def without_nothing(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_nothing(each) for name, each in value.items() if each is not None}
    return [without_nothing(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda manifest: manifest["kind"])
def test_a_manifest_is_of_the_form_that_kubernetes_takes(manifest: dict[str, Any]) -> None:
    if manifest["kind"] == "ScaledObject":
        jsonschema.Draft202012Validator(SCALED_OBJECT).validate(manifest)
        behavior = manifest["spec"]["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
        whole(behavior, "lightkube.models.autoscaling_v2:HorizontalPodAutoscalerBehavior")
    else:
        whole(manifest, MODELS[manifest["apiVersion"], manifest["kind"]])


def test_a_field_that_does_not_exist_would_be_seen() -> None:
    deployment = MANIFESTS[[each["kind"] for each in MANIFESTS].index("Deployment")]
    wrong = json.loads(json.dumps(deployment))
    wrong["spec"]["template"]["spec"]["terminationGracePeriod"] = 45
    with pytest.raises(AssertionError):
        whole(wrong, MODELS["apps/v1", "Deployment"])
    wrong = json.loads(json.dumps(deployment))
    wrong["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = "45"
    with pytest.raises(msgspec.ValidationError):
        whole(wrong, MODELS["apps/v1", "Deployment"])


def test_a_pod_holds_its_processes_has_time_to_finish_and_no_rights() -> None:
    deployment = MANIFESTS[[each["kind"] for each in MANIFESTS].index("Deployment")]
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    environment = {each["name"]: each["value"] for each in container["env"]}
    knobs = settings.load(environment)
    assert set(environment) <= {environment_name(name) for name in settings.Settings.__dataclass_fields__}
    needed = knobs.concurrency * knobs.max_child_bytes + 256 * settings.MIB
    assert int(container["resources"]["limits"]["memory"].removesuffix("Mi")) * settings.MIB >= needed
    assert pod["terminationGracePeriodSeconds"] > longest_run_s(OBSERVE, knobs) + knobs.lease_margin_s
    assert container["ports"][0]["containerPort"] == knobs.metrics_port
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["readOnlyRootFilesystem"] is pod["securityContext"]["runAsNonRoot"] is True
    assert "livenessProbe" not in container
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    for manifest in MANIFESTS:
        selector = manifest["spec"].get("selector") or manifest["spec"].get("podSelector")
        assert selector is None or selector["matchLabels"] == labels
    scaled = next(each for each in MANIFESTS if each["kind"] == "ScaledObject")
    assert scaled["spec"]["scaleTargetRef"]["name"] == deployment["metadata"]["name"]
    assert scaled["spec"]["minReplicaCount"] >= 1  # the depth of the queues is told by workers


# Flower ------------------------------------------------------------------------------------------------------------------


def test_flower_lists_a_worker_that_sends_events(tmp_path: Path) -> None:
    ports = []
    for _ in range(2):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            ports.append(int(probe.getsockname()[1]))
    environment = clean_environment(
        tmp_path / "home",
        PIXLANE_REDIS_URL=f"redis://127.0.0.1:{ports[0]}/0",
        PIXLANE_CELERY_EVENTS="true",
        PIXLANE_CONCURRENCY="1",
        PYTHONSAFEPATH="1",
        FLOWER_UNAUTHENTICATED_API="true",
    )
    service = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["flower"]
    commands = (
        ["redis-server", "--bind", "127.0.0.1", "--port", str(ports[0]), "--dir", str(tmp_path), "--save", ""],
        [str(BIN / "pixlane"), "worker"],
        [str(BIN / service["entrypoint"][0]), *service["entrypoint"][1:], "--address=127.0.0.1", f"--port={ports[1]}"],
    )
    processes = []
    try:
        for place, command in enumerate(commands):
            with (tmp_path / f"{place}.log").open("wb") as log:
                processes.append(subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=log, stderr=subprocess.STDOUT))
            if place == 0:
                wait_until(lambda: b"Ready to accept" in (tmp_path / "0.log").read_bytes(), "the server listens")
        wait_until(lambda: listed(ports[1]), f"Flower lists the worker: {tmp_path}", 60)
        (name,) = listed(ports[1])
        assert name.startswith("pixlane@")
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()


def listed(port: int) -> dict[str, Any]:
    address = f"http://127.0.0.1:{port}/api/workers?refresh=1"
    with suppress(OSError), urllib.request.urlopen(address, timeout=10) as answer:
        return dict(json.load(answer))
    return {}
