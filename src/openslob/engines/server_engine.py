"""What engines of a single server share: their own connections, how these wait, and the course of the test data.

An engine subclasses `ServerEngine` and `ServerData`, and adds what its product does. `engines/cluster/` presents
several servers as one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from openslob.core.errors import SlobError, UsageError
from openslob.core.host import OtherHost
from openslob.core.secrets import Address
from openslob.core.workload import DataSpec, StatisticsType
from openslob.engines.base import Calibrator, Snapshotter
from openslob.engines.facts import DataState, LoadResult, ProgressSink
from openslob.engines.flavour import Identity
from openslob.engines.ledger import LedgerTables
from openslob.engines.load import Loader, load
from openslob.engines.manifest import LoadManifest
from openslob.engines.patience import Closeable, NoAnswerError, Patience, Watch, Work, close_on_failure
from openslob.engines.proofs import Proving
from openslob.engines.settings import KnownSettings


class DriverConnection(Closeable, AbstractContextManager[Any], Protocol):
    """A connection of a product's driver, as a context manager that closes it."""

    def __enter__(self) -> Self:
        """Return the connection."""


class DriverErrors(Protocol):
    """A product's module for the errors of its driver's library."""

    def report_as(self, what: str) -> AbstractContextManager[None]:
        """Turn a driver's error inside the block into one line that begins with ``what``."""

    def is_full(self, error: BaseException | None) -> bool:
        """Return whether the server answered that it takes no further connection."""


C = TypeVar("C", bound=DriverConnection)


class ConnectionOwner(Generic[C]):
    """What works over one connection of its own and closes it: a sampler, a session, a signal."""

    def __init__(self, connection: C) -> None:
        self._connection = connection

    @property
    def connection(self) -> C:
        """The connection that it works over."""
        return self._connection

    def close(self) -> None:
        """Close the connection; never raises."""
        self._connection.close()


class ServerEngine(ABC, Generic[C]):
    """One database of one server as a target: the part of `openslob.engines.base.Engine` that is the same for all."""

    driver_errors: DriverErrors
    # Kinds of statements by the purpose of the connection; all others are short.
    work: ClassVar[Mapping[str, Work]]
    # Why a server does not answer, on any connection.
    silence: ClassVar[str] = "it hangs or is stopped"
    # Whether sessions may go through a pooler, and all else to the server itself.
    may_be_pooled: ClassVar[bool] = False

    def __init__(self, url: str, target: str) -> None:
        self.address = Address.parse(url)
        self.target = target
        self.patience = Patience()
        self.server_pid: int | None = None
        self.host: OtherHost | None = None
        self._direct: Address | None = None
        self._identity: Identity | None = None

    @property
    def direct(self) -> Address | None:
        """The server itself behind a pooler; None where the address is the server's."""
        return self._direct

    @direct.setter
    def direct(self, direct: Address | None) -> None:
        if direct is not None and not self.may_be_pooled:
            raise UsageError(f"--direct: {self.target} is not measured through a pooler", "name the server by --target")
        self._direct = direct

    # What a product's subclass provides.

    @abstractmethod
    def connect(self, purpose: str, watch: Watch) -> C:
        """Connect in autocommit mode and name the purpose to the server; statements wait as the watch says."""

    def settle(self, connection: C, purpose: str) -> None:
        """Set on a new connection what our statements rely on."""

    @abstractmethod
    def find_obstacle(self, connection: C) -> str:
        """Ask on a connection of its own who keeps the others waiting; empty when nobody else does."""

    @abstractmethod
    def list_settings(self, connection: C) -> KnownSettings:
        """Return the settings that a session can change, asked on this connection."""

    # Connections.

    def open(self, purpose: str) -> C:
        """Open a connection in autocommit mode that names its purpose to the server."""
        connection = self._open(purpose, self.patience, self.work.get(purpose, Work.SHORT), self.obstacle)
        with close_on_failure(connection), self.driver_errors.report_as(f"can't connect to {self.target}"):
            self._settle_known(connection, purpose)
        return connection

    def _settle_known(self, connection: C, purpose: str) -> None:
        """Ask the first connection which product the server is, and settle each.

        It is asked before anything is set. What is set there for applications may keep the answer away: then it is
        asked again afterwards, and if that does not help, either, the first failure is the one to say.
        """
        if self._identity is None:
            try:
                self._identity = self.identify(connection)
            except Exception as error:  # of the driver, or why nothing can be measured
                try:
                    self.settle(connection, purpose)
                    self._identity = self.identify(connection)
                except Exception:
                    raise error from error.__cause__
        self.settle(connection, purpose)

    @property
    def identity(self) -> Identity | None:
        """Which product the server is, asked on the first connection; None where no other speaks its protocol."""
        if self._identity is None:
            self.open("query").close()
        return self._identity

    def _open(self, purpose: str, patience: Patience, work: Work, obstacle: Callable[[], str]) -> C:
        watch = Watch(patience, work, obstacle)
        return patience.connect(lambda: self.connect(purpose, watch), lambda late: late.close())

    @contextmanager
    def querying(self, failure: str = "", purpose: str = "query") -> Iterator[C]:
        """Open a connection for a few queries; errors begin with ``failure``, if that is given."""
        what = failure or f"{self.target} does not answer"
        with self.open(purpose) as connection, self.driver_errors.report_as(what):
            yield connection

    def follow(self, patience: Patience) -> None:
        self.patience = patience

    def obstacle(self) -> str:
        patience = self.patience.of_probe()
        try:
            with (
                self._open("probe", patience, Work.SAMPLE, str) as connection,
                self.driver_errors.report_as(f"{self.target} does not answer"),
            ):
                return self.find_obstacle(connection)
        except NoAnswerError as error:
            why = f"{self.target} does not answer, neither on this connection nor on a new one"
            raise NoAnswerError(why, self.silence) from error
        except SlobError as error:
            if self.driver_errors.is_full(error.__cause__):
                return ""
            raise

    @contextmanager
    def known_settings(self) -> Iterator[KnownSettings]:
        with self.querying(f"{self.target} can't be asked for its settings") as connection:
            yield self.list_settings(connection)

    # What many products do not have.

    def identify(self, connection: C) -> Identity | None:
        """Return which product the server is; None: no other speaks its protocol.

        SlobError where nothing can be measured. Nothing was set on the connection.
        """

    def proving(self) -> AbstractContextManager[Proving] | None:
        """Return None: the contract tests of this engine run on real servers."""

    def ledger(self) -> LedgerTables | None:
        """Return None: no server of this product was crashed for a test yet."""

    def open_snapshots(self, kind: StatisticsType, consented: frozenset[str]) -> Snapshotter | None:
        """Return None: the server makes no reports of its own statistics."""

    def open_calibrator(self, _consented: frozenset[str]) -> Calibrator:
        raise UsageError(f"{self.target} has no calibration of its own", "leave out --with")


E = TypeVar("E", bound=ServerEngine[Any])


class ServerData(ABC, Generic[E, C]):
    """The test data of one database. Implements `openslob.engines.base.DataStore` but for what is abstract."""

    def __init__(self, engine: E) -> None:
        self._engine = engine

    @abstractmethod
    def read_manifest(self, connection: C) -> LoadManifest | None:
        """Return the manifest of the last load; None when nothing was loaded."""

    @abstractmethod
    def prepare(self, connection: C, spec: DataSpec, degree: int) -> Loader[C]:
        """Return what loads these data, ``degree`` tables at a time."""

    @abstractmethod
    def remove(self, connection: C) -> list[str]:
        """Remove all that a load made, and return the names."""

    def state(self) -> DataState | None:
        with self._engine.querying(f"{self._engine.target} can't be checked") as connection:
            loaded = self.read_manifest(connection)
            return loaded.data_state() if loaded else None

    def load(self, spec: DataSpec, degree: int, progress: ProgressSink, cancelled: Callable[[], bool]) -> LoadResult:
        engine = self._engine
        with engine.driver_errors.report_as("the load failed"):
            return load(
                lambda: engine.open("load"),
                self.read_manifest,
                lambda connection: self.prepare(connection, spec, degree),
                spec,
                degree,
                progress,
                cancelled,
            )

    def files(self, _directory: Path) -> Sequence[Path]:
        return ()

    def drop(self) -> list[str]:
        with self._engine.querying(f"can't drop the data of {self._engine.target}", "drop") as connection:
            return self.remove(connection)
