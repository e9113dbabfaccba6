"""`slob kubernetes`: parts that fit together, and commands that slob understands."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from openslob import cli
from openslob.core.errors import UsageError
from openslob.fleet import local_count

RUN = ("run", "--sessions", "1200", "--run-time", "5m")


def called(*words, **environment):
    return CliRunner().invoke(cli.app, ["kubernetes", "--image", "openslob:1", *words], env=environment)


@pytest.fixture(params=[0, 4], ids=["alone", "drivers"])
def objects(request):
    done = called("--drivers", str(request.param), "--", *RUN)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["items"]


def named(objects, kind):
    return {each["metadata"]["name"]: each for each in objects if each["kind"] == kind}


def pods(objects):
    return [each["spec"]["template"]["spec"] for each in objects if "template" in each.get("spec", {})]


def containers(pod):
    return [*pod["containers"], *pod.get("initContainers", ())]


def test_a_job_alone_has_its_volume_and_a_run_with_drivers_all_of_them():
    alone, many = (json.loads(called(*more, "--", *RUN).stdout)["items"] for more in ((), ("--drivers", "4")))
    assert [each["kind"] for each in alone] == ["PersistentVolumeClaim", "Job"]
    kinds = [each["kind"] for each in many]
    assert kinds == [
        "PersistentVolumeClaim",
        "ConfigMap",
        "Service",
        "Deployment",
        "Deployment",
        "NetworkPolicy",
        "Job",
    ]
    assert named(many, "Deployment")["slob-run-drivers"]["spec"]["replicas"] == 4


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
        for container in containers(pod):
            assert {each["name"] for each in container["volumeMounts"]} == volumes
            given = {each["configMapRef"]["name"] for each in container.get("envFrom", ())}
            assert given <= set(named(objects, "ConfigMap"))
            assert container["image"] == "openslob:1"
        for each in pod["volumes"]:
            claim = each.get("persistentVolumeClaim")
            assert claim is None or claim["claimName"] in named(objects, "PersistentVolumeClaim")


def test_a_run_waits_for_all_drivers():
    pod = pods(json.loads(called("--drivers", "7", "--", *RUN).stdout)["items"])[-1]
    assert ".wait_for_workers(7," in pod["initContainers"][0]["command"][-1]


def test_no_variable_of_a_service_looks_like_a_parameter(objects):
    assert all(pod["enableServiceLinks"] is False for pod in pods(objects))


def test_drivers_and_runs_use_the_scheduler_by_tls(objects):
    services = {f"tls://{name}:{each['spec']['ports'][0]['port']}" for name, each in named(objects, "Service").items()}
    words = [word for pod in pods(objects) for one in containers(pod) for word in one.get("command", one.get("args"))]
    assert {word for word in words if "://" in word and " " not in word} == services
    assert {local_count(url) for url in services} <= {0}


def test_the_job_runs_what_was_given_with_the_server_of_the_secret():
    (container,) = pods(json.loads(called("--", *RUN).stdout)["items"])[0]["containers"]
    assert container["args"] == list(RUN)
    assert container["env"][0]["valueFrom"]["secretKeyRef"] == {"name": "slob-target", "key": "url"}
    (container,) = pods(json.loads(called("--", "show", "latest").stdout)["items"])[0]["containers"]
    assert container["env"] == []


@pytest.mark.parametrize("name", ["Slob", "1a", "a.b", "a" * 54, "a-", "a\nb"])
def test_a_name_that_a_cluster_refuses_is_refused(name):
    assert called("--name", name, "--", *RUN).exit_code == 2
    assert called("--name", "a" * 53, "--", *RUN).exit_code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["runn"], "'runn' is not a complete command"),
        (["server"], "'server' is not a complete command"),
        (["run", "--target", "postgresql://u:secret@h/d"], "in the secret slob-target"),
        (["run", "--drivers", "local:2"], "the pods are the drivers"),
    ],
)
def test_what_a_pod_could_not_run_is_refused_before_it_is_sent(words, said):
    done = called("--drivers", "2", "--", *words)
    assert isinstance(done.exception, UsageError) or done.exit_code == 2
    assert said in f"{done.exception} {done.output}"
    assert "secret@" not in f"{done.exception} {done.output}"


@pytest.mark.parametrize("words", [["run", "--sesions", "4"], ["load", "--scale", "1G"]])
def test_an_option_that_the_command_has_not_is_refused(words):
    done = called("--drivers", "2", "--", *words)
    assert done.exit_code == 2
    assert "no such option" in done.output.lower()
