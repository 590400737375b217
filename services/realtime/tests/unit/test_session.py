"""One session: whose it is, until when, and how much it may do."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from realtime.domain.session import Meters, Session, Verdict
from shared.contracts.auth import Identity, Role
from shared.errors import Forbidden, RateLimited
from shared.ratelimit import Bucket, Limit

NOW = datetime(2027, 1, 1, tzinfo=UTC)


def session(**limits: int) -> Session:
    def bucket(name: str) -> Bucket:
        count = limits.get(name, 1000)
        return Bucket(Limit(name, count, 60, count))

    return Session(
        bucket("bad"),
        bucket("control"),
        max_watched=limits.get("watched", 20),
        meters=Meters(bucket("commands"), bucket("states"), bucket("refusals")),
    )


def identity(player_id: UUID | None = None, *, minutes: float = 10) -> Identity:
    return Identity(
        player_id=player_id or uuid4(),
        session_id=uuid4(),
        role=Role.PLAYER,
        expires_at=NOW + timedelta(minutes=minutes),
    )


def test_commands_over_the_limit_are_refused_and_then_close() -> None:
    limited = session(commands=2, refusals=3)

    verdicts = [limited.judge_command(0.0) for _ in range(6)]

    assert verdicts == [Verdict.PASS] * 2 + [Verdict.REFUSE] * 3 + [Verdict.CLOSE]


def test_the_limit_of_commands_refills_with_time() -> None:
    limited = session(commands=2)

    assert [limited.judge_command(0.0) for _ in range(3)][-1] is Verdict.REFUSE
    assert limited.judge_command(31.0) is Verdict.PASS


def test_requests_for_a_state_have_a_limit_of_their_own() -> None:
    limited = session(states=1)

    verdicts = [limited.judge_state_request(0.0) for _ in range(2)]

    assert verdicts == [Verdict.PASS, Verdict.REFUSE]


def test_too_many_wrong_messages_close() -> None:
    limited = session(bad=2)

    verdicts = [limited.judge_bad_frame(0.0) for _ in range(3)]

    assert verdicts == [Verdict.REFUSE, Verdict.REFUSE, Verdict.CLOSE]


def test_a_later_token_of_the_same_player_extends_the_session() -> None:
    living = session()
    first = identity(minutes=1)

    living.authenticate(first)
    assert living.seconds_left(NOW) == 60
    living.authenticate(identity(first.player_id, minutes=10))

    assert living.seconds_left(NOW) == 600


def test_a_token_of_another_player_is_forbidden_and_changes_nothing() -> None:
    living = session()
    first = identity()
    living.authenticate(first)

    with pytest.raises(Forbidden):
        living.authenticate(identity())

    assert living.identity == first


def test_a_session_that_is_over_or_never_began_has_no_time_left() -> None:
    assert session().seconds_left(NOW) == 0
    over = session()
    over.authenticate(identity(minutes=-1))
    assert over.seconds_left(NOW) == 0


def test_too_many_frames_that_are_no_messages_close() -> None:
    limited = session(control=2)

    verdicts = [limited.judge_control_frame(0.0) for _ in range(3)]

    assert verdicts == [Verdict.PASS, Verdict.PASS, Verdict.CLOSE]


def test_nobody_may_do_anything_before_it_is_known_who_it_is() -> None:
    stranger = session()
    stranger.meters = None

    assert stranger.judge_command(0.0) is Verdict.CLOSE
    assert stranger.judge_state_request(0.0) is Verdict.CLOSE


def test_watched_games_are_bounded_and_each_is_watched_once() -> None:
    watching = session(watched=2)
    first, second = uuid4(), uuid4()

    for game_id in (first, second):
        watching.watch(game_id)
    for game_id in (first, uuid4()):
        with pytest.raises(RateLimited):
            watching.watch(game_id)
    watching.unwatch(first)
    watching.watch(uuid4())

    assert len(watching.watched) == 2


def test_a_watch_that_failed_takes_no_later_one_with_it() -> None:
    watching = session()
    game_id = uuid4()

    first = watching.watch(game_id)
    watching.unwatch(game_id)
    second = watching.watch(game_id)
    watching.give_up(game_id, first)
    assert game_id in watching.watched
    watching.give_up(game_id, second)

    assert game_id not in watching.watched
