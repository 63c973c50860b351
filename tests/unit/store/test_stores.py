import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from iop_edge.errors import EdgeError
from iop_edge.refresh.result import Attempt, Status, Trigger
from iop_edge.store.history import Applied, MemoryStore, Retention, Store
from iop_edge.store.sqlite import FILE_NAME, SqliteStore

ATTEMPT = Attempt(
    at_ms=1_700_000_000_123,
    actor="root",
    trigger=Trigger.REFRESH,
    status=Status.APPLIED,
    committed=True,
    revision_before=1,
    revision_after=2,
    base_hash="aa",
    candidate_hash="bb",
    paths=("models[m].display_name", 'nodes["ü b"].alias'),
    rules=("node.rejected",),
)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: dict[str, Callable[[], Store]] = {"memory": MemoryStore, "sqlite": lambda: SqliteStore(tmp_path / "state")}
    store = made[request.param]()
    yield store
    store.close()


def test_an_attempt_comes_back_as_it_was_recorded_with_a_number(store: Store) -> None:
    recorded = store.record(ATTEMPT)
    assert recorded == replace(ATTEMPT, id=1)
    assert store.history() == (recorded,)


@pytest.mark.parametrize("status", list(Status))
@pytest.mark.parametrize("trigger", list(Trigger))
def test_every_status_and_trigger_can_be_recorded(store: Store, status: Status, trigger: Trigger) -> None:
    store.record(replace(ATTEMPT, status=status, trigger=trigger, committed=False))
    (entry,) = store.history()
    assert (entry.status, entry.trigger, entry.committed) == (status, trigger, False)


def test_history_lists_the_newest_first_and_no_more_than_asked(store: Store) -> None:
    for number in range(5):
        store.record(replace(ATTEMPT, at_ms=number))
    assert [entry.at_ms for entry in store.history(3)] == [4, 3, 2]
    assert [entry.id for entry in store.history(3)] == [5, 4, 3]


def test_the_newest_config_is_that_of_the_highest_revision(store: Store) -> None:
    assert store.newest() is None
    store.record(ATTEMPT, Applied(1, "aa", "edge: {id: one}"))
    store.record(ATTEMPT, Applied(2, "bb", "edge: {id: two}"))
    store.record(ATTEMPT)
    assert store.newest() == Applied(2, "bb", "edge: {id: two}")
    assert store.applied(1) == Applied(1, "aa", "edge: {id: one}")


@pytest.mark.parametrize("revision", [0, 7, 2**63, 2**64 - 1])
def test_a_revision_that_was_never_applied_is_none(store: Store, revision: int) -> None:
    store.record(ATTEMPT, Applied(1, "aa", ""))
    assert store.applied(revision) is None


def test_a_revision_is_recorded_once_and_the_failed_attempt_leaves_nothing(store: Store) -> None:
    store.record(ATTEMPT, Applied(1, "aa", "first"))
    with pytest.raises(EdgeError):
        store.record(ATTEMPT, Applied(1, "bb", "second"))
    assert store.applied(1) == Applied(1, "aa", "first")
    assert len(store.history()) == 1
    store.record(ATTEMPT, Applied(2, "bb", "second"))
    assert store.newest() == Applied(2, "bb", "second")


def test_the_key_is_long_stays_and_is_not_that_of_another_store(store: Store) -> None:
    assert len(store.key()) >= 32
    assert store.key() == store.key()
    assert store.key() != MemoryStore().key()


def test_the_text_of_a_config_is_not_in_its_repr() -> None:
    assert "sensitive-topology" not in repr(Applied(1, "aa", "sensitive-topology"))


def test_a_reopened_store_has_its_key_its_attempts_and_its_revisions(tmp_path: Path) -> None:
    first = SqliteStore(tmp_path)
    first.record(ATTEMPT, Applied(4, "aa", "text"))
    key = first.key()
    first.close()
    second = SqliteStore(tmp_path)
    assert (second.key(), second.newest(), len(second.history())) == (key, Applied(4, "aa", "text"), 1)
    second.close()


def test_what_was_recorded_is_there_though_the_store_was_never_closed(tmp_path: Path) -> None:
    abandoned = SqliteStore(tmp_path)
    abandoned.record(ATTEMPT, Applied(1, "aa", "text"))
    reader = SqliteStore(tmp_path)
    assert reader.newest() == Applied(1, "aa", "text")
    reader.close()
    abandoned.close()


def test_the_directory_and_its_files_are_the_owners_alone(tmp_path: Path) -> None:
    state_dir = tmp_path / "deep" / "state"
    store = SqliteStore(state_dir)
    store.record(ATTEMPT)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (state_dir, *state_dir.iterdir())}
    assert modes.pop("state") == 0o700
    assert set(modes.values()) == {0o600}
    store.close()


def test_a_directory_that_was_open_to_others_is_closed(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    SqliteStore(tmp_path).close()
    assert tmp_path.stat().st_mode & 0o777 == 0o700


def test_a_state_directory_that_is_a_file_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    with pytest.raises(EdgeError, match="state directory"):
        SqliteStore(tmp_path / "state")


def test_a_file_that_is_no_database_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text("not a database, and long enough to be looked at by its reader" * 20)
    with pytest.raises(EdgeError, match="cannot be used"):
        SqliteStore(tmp_path)


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path)
    store._db.execute("PRAGMA user_version = 99")
    store.close()
    with pytest.raises(EdgeError, match="newer version"):
        SqliteStore(tmp_path)


def test_a_link_in_place_of_the_database_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("")
    (tmp_path / FILE_NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(EdgeError, match="state directory"):
        SqliteStore(tmp_path)


def test_a_store_that_cannot_be_written_is_a_clear_error_and_can_be_read(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path)
    store.record(ATTEMPT, Applied(1, "aa", "text"))
    store._db.execute("PRAGMA query_only = ON")
    with pytest.raises(EdgeError, match="cannot be used"):
        store.record(ATTEMPT, Applied(2, "bb", "text"))
    assert store.newest() == Applied(1, "aa", "text")
    store._db.execute("PRAGMA query_only = OFF")
    store.record(ATTEMPT, Applied(2, "bb", "text"))
    store.close()
    store.close()


SMALL = Retention(attempts=3, configs=2)


@pytest.fixture(params=["memory", "sqlite"])
def small(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    store: Store = MemoryStore(SMALL) if request.param == "memory" else SqliteStore(tmp_path / "state", SMALL)
    yield store
    store.close()


def test_a_history_forgets_the_oldest_attempts_and_configs_alone(small: Store) -> None:
    for revision in range(1, 6):
        small.record(ATTEMPT, Applied(revision, "aa", f"text {revision}"))
    assert [entry.id for entry in small.history()] == [5, 4, 3]
    assert [small.applied(revision) is None for revision in range(1, 6)] == [True, True, True, False, False]
    assert small.newest() == Applied(5, "aa", "text 5")


def test_the_newest_config_is_kept_however_many_attempts_come_after_it(small: Store) -> None:
    small.record(ATTEMPT, Applied(1, "aa", "text"))
    for _ in range(10):
        small.record(replace(ATTEMPT, committed=False))
    assert small.newest() == Applied(1, "aa", "text")
    assert [entry.id for entry in small.history()] == [11, 10, 9]


@pytest.mark.parametrize("bounds", [(0, 1), (1, 0), (-1, 5)])
def test_a_retention_that_keeps_nothing_is_refused(bounds: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="at least"):
        Retention(*bounds)


def written_by_version_1(state_dir: Path) -> None:
    script = Path(__file__).with_name("history_v1.sql").read_text(encoding="utf-8")
    with closing(sqlite3.connect(state_dir / FILE_NAME)) as database:
        database.executescript(script)


def test_a_history_of_the_first_version_is_taken_over_and_written_on(tmp_path: Path) -> None:
    written_by_version_1(tmp_path)
    for _ in range(2):
        with closing(SqliteStore(tmp_path)) as store:
            assert store.key() == bytes(range(32))
            assert store.newest() == Applied(7, "aa", "edge: {id: e}")
            oldest = store.history()[-1]
            assert (oldest.id, oldest.paths, oldest.rules) == (3, ("models[m]",), ())
            assert store.record(ATTEMPT).rules == store.history(1)[0].rules == ("node.rejected",)


def test_a_migration_that_fails_leaves_the_old_history_as_it_was(tmp_path: Path) -> None:
    written_by_version_1(tmp_path)
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as database:
        database.execute("ALTER TABLE attempt ADD COLUMN rules TEXT")
    with pytest.raises(EdgeError, match="cannot be used"):
        SqliteStore(tmp_path)
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (1,)
        assert database.execute("SELECT revision FROM applied").fetchall() == [(7,)]


def fill_the_disk(store: SqliteStore) -> None:
    """Let the file grow no further, as on a disk that is full."""
    (pages,) = store._db.execute("PRAGMA page_count").fetchone()
    store._db.execute(f"PRAGMA max_page_count = {pages}")


def test_a_full_disk_is_a_clear_error_that_leaves_the_history_whole(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path)) as store:
        store.record(ATTEMPT, Applied(1, "aa", "text"))
        fill_the_disk(store)
        with pytest.raises(EdgeError, match="full"):
            store.record(ATTEMPT, Applied(2, "bb", "x" * 100_000))
        assert (store.newest(), len(store.history())) == (Applied(1, "aa", "text"), 1)
        store._db.execute("PRAGMA max_page_count = 1000000")
        store.record(ATTEMPT, Applied(2, "bb", "x" * 100_000))
        assert len(store.history()) == 2


def test_a_config_that_waits_for_its_confirmation_is_not_the_newest_confirmed_one(store: Store) -> None:
    assert store.newest_confirmed() is None
    store.record(ATTEMPT, Applied(1, "aa", "one"))
    store.record(ATTEMPT, Applied(2, "bb", "two", is_confirmed=False))
    assert store.newest() == Applied(2, "bb", "two", is_confirmed=False)
    assert store.newest_confirmed() == Applied(1, "aa", "one")
    store.confirm(7)
    store.confirm(2)
    assert store.newest() == store.newest_confirmed() == Applied(2, "bb", "two")


def test_the_newest_confirmed_config_is_kept_however_many_wait_for_that(small: Store) -> None:
    small.record(ATTEMPT, Applied(1, "", "old"))
    small.record(ATTEMPT, Applied(2, "", "good"))
    for revision in range(3, 9):
        small.record(ATTEMPT, Applied(revision, "", "", is_confirmed=False))
    assert small.newest_confirmed() == Applied(2, "", "good")
    assert small.applied(1) is None
    assert small.applied(3) is None
    small.confirm(8)
    small.record(ATTEMPT, Applied(9, "", ""))
    assert small.applied(2) is None


@pytest.mark.parametrize(("limit", "listed"), [(-(2**70), 0), (-1, 0), (0, 0), (1, 1), (2**63, 2), (2**70, 2)])
def test_every_store_takes_any_whole_number_for_a_limit(store: Store, limit: int, listed: int) -> None:
    store.record(ATTEMPT)
    store.record(ATTEMPT)
    assert len(store.history(limit)) == listed


@pytest.mark.parametrize("revision", [-(2**70), -1, 0, 2**63, 2**70])
def test_every_store_has_no_config_of_a_number_that_no_revision_has(store: Store, revision: int) -> None:
    store.record(ATTEMPT, Applied(1, "aa", "edge: {id: one}"))
    assert store.applied(revision) is None
