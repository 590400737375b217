from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auth.domain.sessions import (
    Lifetimes,
    RefreshToken,
    Session,
    State,
    Verdict,
    access_expires_at,
    issue_refresh_token,
    judge,
    open_session,
    state_of,
)
from shared.ids import new_id

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LIFE = Lifetimes(
    access=timedelta(minutes=15),
    refresh=timedelta(days=30),
    session=timedelta(days=90),
    grace=timedelta(seconds=10),
)
SECOND = timedelta(seconds=1)


def begun(user_agent: str | None = None) -> tuple[Session, RefreshToken]:
    session = open_session(new_id(), new_id(), user_agent, NOW, LIFE)
    return session, issue_refresh_token(bytes(32), session, NOW, LIFE)


def test_a_fresh_token_is_rotated() -> None:
    session, token = begun()

    assert judge(token, session, NOW + SECOND, LIFE) is Verdict.ROTATE


@pytest.mark.parametrize(
    ("seconds", "verdict"),
    [(0, Verdict.ROTATE), (10, Verdict.ROTATE), (10.001, Verdict.REUSED), (9999, Verdict.REUSED)],
)
def test_a_replaced_token_is_a_lost_reply_within_the_grace_and_a_theft_after_it(
    seconds: float, verdict: Verdict
) -> None:
    session, token = begun()
    replaced = replace(token, replaced_at=NOW)

    assert judge(replaced, session, NOW + timedelta(seconds=seconds), LIFE) is verdict


def test_a_clock_behind_the_one_that_replaced_is_within_the_grace() -> None:
    session, token = begun()
    replaced = replace(token, replaced_at=NOW + 3 * SECOND)

    assert judge(replaced, session, NOW, LIFE) is Verdict.ROTATE


def test_a_token_expires_and_a_session_ends_by_time() -> None:
    session, token = begun()

    assert judge(token, session, NOW + LIFE.refresh, LIFE) is Verdict.EXPIRED
    assert judge(token, session, NOW + LIFE.session, LIFE) is Verdict.EXPIRED
    assert state_of(session, NOW + LIFE.session) is State.EXPIRED


def test_a_stolen_token_that_expired_ends_the_session_all_the_same() -> None:
    session, token = begun()
    replaced = replace(token, replaced_at=NOW)

    assert judge(replaced, session, NOW + LIFE.refresh + SECOND, LIFE) is Verdict.REUSED


@given(
    st.booleans(),
    st.integers(min_value=0, max_value=100 * 86_400),
    st.none() | st.integers(min_value=0, max_value=100 * 86_400),
)
def test_nothing_revives_a_revoked_session(
    is_used: bool, now_s: int, replaced_s: int | None
) -> None:
    session, token = begun()
    revoked = replace(session, revoked_at=NOW)
    replaced_at = None if replaced_s is None else NOW + timedelta(seconds=replaced_s)

    verdict = judge(
        replace(token, replaced_at=replaced_at), revoked, NOW + timedelta(seconds=now_s), LIFE
    )

    assert verdict is Verdict.REVOKED
    assert state_of(revoked, NOW + timedelta(seconds=now_s)) is State.REVOKED


def test_no_token_outlives_its_session() -> None:
    session, _ = begun()
    late = session.expires_at - SECOND

    assert issue_refresh_token(bytes(32), session, late, LIFE).expires_at == session.expires_at
    assert access_expires_at(session, late, LIFE) == session.expires_at
    assert access_expires_at(session, NOW, LIFE) == NOW + LIFE.access


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (None, None),
        ("curl/8", "curl/8"),
        ("a\x00\nb", "ab"),
        ("\x00", None),
        ("x" * 999, "x" * 200),
    ],
)
def test_a_user_agent_is_kept_as_printable_text(sent: str | None, kept: str | None) -> None:
    session, _ = begun(sent)

    assert session.user_agent == kept
