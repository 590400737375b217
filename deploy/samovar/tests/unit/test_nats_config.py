"""The rendered rights: everything from the walls, nothing else."""

from pathlib import Path

from samovar.nats_config import NatsOptions, render, render_accounts
from shared.contracts import walls

PASSWORDS = {user: f"password-of-{user}" for user in [*walls.WALLS, "system"]}


def _block_of(user: str) -> str:
    text = render_accounts(PASSWORDS)
    return text.split(f'user: "{user}",')[1].split("user:")[0]


def test_every_user_has_exactly_the_subjects_of_its_wall() -> None:
    for user, wall in walls.WALLS.items():
        block = _block_of(user)

        subjects = {part for part in block.split('"')[1::2] if not part.startswith("password")}
        assert subjects - {"10s"} == {*wall.publish, *wall.subscribe}


def test_only_who_serves_requests_may_answer_them() -> None:
    assert "allow_responses" in _block_of("economy")
    assert "allow_responses" not in _block_of("operator")
    assert "allow_responses" not in _block_of("bootstrap")


def test_a_user_without_subjects_is_denied_everything() -> None:
    from samovar.nats_config import _subjects

    assert _subjects(()) == '{ deny: [">"] }'


def test_a_password_cannot_break_out_of_its_quotes() -> None:
    text = render_accounts(PASSWORDS | {"auth": 'x", permissions: {}, "'})

    assert r'password: "x\", permissions: {}, \""' in text


def test_events_are_synced_to_disk_unless_a_test_says_otherwise() -> None:
    durable = render(NatsOptions("127.0.0.1", 4222, Path("/data")), PASSWORDS)
    quick = render(NatsOptions("127.0.0.1", 4222, Path("/data"), fsync=False), PASSWORDS)

    assert "sync_interval: always" in durable
    assert 'sync_interval: "2m"' in quick
