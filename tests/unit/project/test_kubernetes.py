"""The manifests in docs/kubernetes: parts that fit together. Their schema is that of Kubernetes, which is not here."""

import pytest
import yaml

from factories.paths import ROOT
from openslob.fleet import local_count

FILES = sorted((ROOT / "docs/kubernetes").glob("*.yaml"))
API = {
    "ConfigMap": "v1",
    "Service": "v1",
    "PersistentVolumeClaim": "v1",
    "Deployment": "apps/v1",
    "Job": "batch/v1",
    "NetworkPolicy": "networking.k8s.io/v1",
}


@pytest.fixture(params=FILES, ids=lambda path: path.name)
def objects(request):
    return list(yaml.safe_load_all(request.param.read_text()))


def named(objects, kind):
    return {each["metadata"]["name"]: each for each in objects if each["kind"] == kind}


def pods(objects):
    return [each["spec"]["template"]["spec"] for each in objects if "template" in each.get("spec", {})]


def test_there_are_manifests():
    assert FILES


def test_each_object_has_its_version_name_and_namespace(objects):
    for each in objects:
        assert each["apiVersion"] == API[each["kind"]]
        assert each["metadata"]["name"]
        assert each["metadata"]["namespace"] == "slob"


def test_what_an_object_selects_is_there(objects):
    labels = [each["spec"]["template"]["metadata"]["labels"] for each in objects if "template" in each.get("spec", {})]
    for each in named(objects, "Deployment").values():
        assert each["spec"]["selector"]["matchLabels"] == each["spec"]["template"]["metadata"]["labels"]
    for each in named(objects, "Service").values():
        assert each["spec"]["selector"] in labels
    for each in named(objects, "NetworkPolicy").values():
        wanted = each["spec"]["podSelector"]["matchLabels"].items()
        assert all(wanted <= found.items() for found in labels), "the policy is for all"


def test_what_a_pod_mounts_and_takes_is_there(objects):
    for pod in pods(objects):
        volumes = {each["name"] for each in pod["volumes"]}
        for container in pod["containers"]:
            assert {each["name"] for each in container["volumeMounts"]} == volumes
            assert {each["configMapRef"]["name"] for each in container["envFrom"]} <= set(named(objects, "ConfigMap"))
            assert container["image"].startswith("openslob:")
        for each in pod["volumes"]:
            claim = each.get("persistentVolumeClaim")
            assert claim is None or claim["claimName"] in named(objects, "PersistentVolumeClaim")


def test_a_run_waits_for_all_drivers_in_the_image_of_the_others(objects):
    replicas = named(objects, "Deployment")["slob-drivers"]["spec"]["replicas"]
    (pod,) = (each for each in pods(objects) if "initContainers" in each)
    (wait,) = pod["initContainers"]
    assert f".wait_for_workers({replicas}," in wait["command"][-1]
    assert wait["image"] == pod["containers"][0]["image"]
    assert {each["name"] for each in wait["volumeMounts"]} <= {each["name"] for each in pod["volumes"]}


def test_no_variable_of_a_service_looks_like_a_parameter(objects):
    assert any(name.startswith("slob-") for name in named(objects, "Service"))
    assert all(pod["enableServiceLinks"] is False for pod in pods(objects))


def test_drivers_and_runs_use_the_scheduler_by_tls(objects):
    services = {f"tls://{name}:{each['spec']['ports'][0]['port']}" for name, each in named(objects, "Service").items()}
    words = [word for pod in pods(objects) for one in pod["containers"] for word in one.get("command", one.get("args"))]
    used = {word for word in words if "://" in word}
    assert used
    assert used <= services
    assert {local_count(word) for word in used} == {0}
