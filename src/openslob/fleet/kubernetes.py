"""A command of slob as a job of Kubernetes; with drivers, also their scheduler, their pods, and who may reach them.

Passwords and keys are in secrets, which are named here and made by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]
# What the jobs of a namespace share: the server's URL, the certificates of drivers, and the volume of all records.
TARGET, TLS, RECORDS = "slob-target", "slob-tls", "slob-records"
_PORT = 8786
_DASK = {
    "COMM__REQUIRE_ENCRYPTION": "True",
    "COMM__TLS__CA_FILE": "/tls/ca.pem",
    **{f"COMM__TLS__{who}__CERT": "/tls/cert.pem" for who in ("SCHEDULER", "WORKER", "CLIENT")},
    **{f"COMM__TLS__{who}__KEY": "/tls/key.pem" for who in ("SCHEDULER", "WORKER", "CLIENT")},
    # Dask would watch itself many times a second, and show itself to whoever asks.
    "WORKER__PROFILE__ENABLED": "False",
    "ADMIN__TICK__INTERVAL": "1s",
    "ADMIN__SYSTEM_MONITOR__INTERVAL": "10s",
    "SCHEDULER__HTTP__ROUTES": "[]",
    "WORKER__HTTP__ROUTES": "[]",
}


@dataclass(frozen=True)
class Job:
    """A job. ``drivers``: the pods that drive its sessions, 0 if it drives them. ``has_target``: it needs a server."""

    name: str
    image: str
    words: tuple[str, ...]
    drivers: int = 0
    has_target: bool = True


def scheduler_of(name: str) -> str:
    """Return the URL of the scheduler that a job of this name has."""
    return f"tls://{name}-scheduler:{_PORT}"


def objects(job: Job) -> Iterator[Object]:
    """Yield the objects of a job in the order in which a cluster should get them."""
    yield _object("v1", "PersistentVolumeClaim", RECORDS, _storage("5Gi"))
    if job.drivers:
        yield from _driving(job)
    target = {"name": "SLOB_TARGET", "valueFrom": {"secretKeyRef": {"name": TARGET, "key": "url"}}}
    lead = _container(job, "slob", args=list(job.words), env=[target] if job.has_target else [])
    # A run takes the drivers that are there when it begins.
    wait = f'Client("{scheduler_of(job.name)}", timeout=120).wait_for_workers({job.drivers}, timeout=300)'
    waiting = _container(job, "wait", command=["python3", "-c", f"from distributed import Client; {wait}"])
    pod = _pod(
        job, "lead", lead, {"persistentVolumeClaim": {"claimName": RECORDS}}, restartPolicy="Never",
        securityContext={"fsGroup": 1000}, initContainers=[waiting] if job.drivers else [],
    )  # fmt: skip
    # A run that failed is looked at, not repeated.
    yield _object("batch/v1", "Job", job.name, {"backoffLimit": 0, "template": pod})


def _driving(job: Job) -> Iterator[Object]:
    """Yield what drivers need: settings, a scheduler, themselves, and a policy that keeps others away from them."""
    data = {f"DASK_DISTRIBUTED__{name}": value for name, value in _DASK.items()}
    yield {**_object("v1", "ConfigMap", f"{job.name}-dask", {}), "data": data}
    ports = [{"name": "dask", "port": _PORT, "targetPort": _PORT}]
    scheduler = f"{job.name}-scheduler"
    yield _object("v1", "Service", scheduler, {"selector": _labels(job, "scheduler"), "ports": ports})
    command = ["dask", "scheduler", "--protocol", "tls", "--port", str(_PORT), "--no-dashboard"]
    container = _container(job, "scheduler", cpu="250m", command=command, readinessProbe={"tcpSocket": {"port": _PORT}})
    yield _deployment(scheduler, 1, _pod(job, "scheduler", container, {"emptyDir": {}}))
    command = ["dask", "worker", scheduler_of(job.name), "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    container = _container(job, "driver", command=[*command, "--memory-limit", "0"])
    # A driver on each node, if there are so many. What it wrote outlives its container, not its pod.
    apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": _labels(job, "driver")}}
    preferred = [{"weight": 100, "podAffinityTerm": apart}]
    affinity = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    pod = _pod(job, "driver", container, {"emptyDir": {}}, affinity=affinity)
    yield _deployment(f"{job.name}-drivers", job.drivers, pod)
    # Whoever reaches the scheduler can run code on all drivers.
    own = {"podSelector": {"matchLabels": {"app": job.name}}}
    yield _object(
        "networking.k8s.io/v1",
        "NetworkPolicy",
        job.name,
        {**own, "policyTypes": ["Ingress"], "ingress": [{"from": [own]}]},
    )


def _labels(job: Job, part: str) -> Object:
    return {"app": job.name, "part": part}


def _object(version: str, kind: str, name: str, spec: Object) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **({"spec": spec} if spec else {})}


def _storage(size: str) -> Object:
    return {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}


def _deployment(name: str, replicas: int, pod: Object) -> Object:
    selector = {"matchLabels": pod["metadata"]["labels"]}
    return _object("apps/v1", "Deployment", name, {"replicas": replicas, "selector": selector, "template": pod})


def _pod(job: Job, part: str, container: Object, data: Object, **more: Any) -> Object:  # noqa: ANN401 - of Kubernetes
    """Return a pod with one container besides those that come first; ``data`` is the volume at /data."""
    volumes = [{"name": "data", **data}, *([{"name": "tls", "secret": {"secretName": TLS}}] if job.drivers else [])]
    # Else variables that Kubernetes makes of services, such as SLOB_SCHEDULER_PORT, look like parameters of slob.
    spec = {"enableServiceLinks": False, "containers": [container], "volumes": volumes, **more}
    return {"metadata": {"labels": _labels(job, part)}, "spec": spec}


def _container(job: Job, name: str, cpu: str = "1", **more: Any) -> Object:  # noqa: ANN401 - of Kubernetes
    """Return a container with the volumes of its pod. It may use more CPU: a quota would let sessions begin late."""
    mounts = [{"name": "data", "mountPath": "/data"}]
    if job.drivers:
        mounts.append({"name": "tls", "mountPath": "/tls"})
        more["envFrom"] = [{"configMapRef": {"name": f"{job.name}-dask"}}]
    resources = {"requests": {"cpu": cpu, "memory": "512Mi"}, "limits": {"memory": "1Gi"}}
    return {"name": name, "image": job.image, "resources": resources, "volumeMounts": mounts, **more}
