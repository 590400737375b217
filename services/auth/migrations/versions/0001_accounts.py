"""Players, sessions, refresh tokens, idempotency keys."""

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TABLES = (
    """
    create table player (
      id uuid primary key,
      kind text not null check (kind in ('registered', 'guest', 'bot')),
      is_admin boolean not null default false,
      -- Computed, so that role and kind cannot contradict each other.
      role text not null generated always as (
        case when is_admin then 'admin' when kind = 'guest' then 'guest' else 'player' end) stored,
      nickname text not null check (char_length(nickname) between 2 and 48),
      email text check (char_length(email) <= 254),
      email_key text unique,
      password_hash text,
      created_at timestamptz not null,
      check ((kind = 'registered') = (email is not null)),
      check ((kind = 'registered') = (email_key is not null)),
      check ((kind = 'registered') = (password_hash is not null)),
      check (kind = 'registered' or not is_admin)
    )
    """,
    "create index player_bot on player (id) where kind = 'bot'",
    """
    create table session (
      id uuid primary key,
      player_id uuid not null references player (id),
      user_agent text check (char_length(user_agent) <= 200),
      created_at timestamptz not null,
      last_used_at timestamptz not null,
      expires_at timestamptz not null check (expires_at > created_at),
      revoked_at timestamptz,
      revoke_reason text check (revoke_reason in ('logout', 'deleted', 'reused')),
      announced_at timestamptz check (announced_at is null or revoked_at is not null),
      check ((revoked_at is null) = (revoke_reason is null))
    )
    """,
    "create index session_player on session (player_id, created_at)",
    "create index session_expires_at on session (expires_at)",
    "create index session_revoked_at on session (revoked_at) where revoked_at is not null",
    """
    create index session_unannounced on session (revoked_at)
      where revoked_at is not null and announced_at is null
    """,
    """
    create table refresh_token (
      hash bytea primary key check (octet_length(hash) = 32),
      -- No cascade: the purge deletes tokens in batches, and their session after them.
      session_id uuid not null references session (id),
      issued_at timestamptz not null,
      expires_at timestamptz not null check (expires_at > issued_at),
      replaced_at timestamptz
    )
    """,
    "create index refresh_token_session on refresh_token (session_id)",
    "create index refresh_token_expires_at on refresh_token (expires_at)",
    """
    create table idempotency_key (
      hash bytea primary key check (octet_length(hash) = 32),
      fingerprint bytea not null check (octet_length(fingerprint) = 32),
      -- Written first in its transaction, to make a second call with the key wait.
      session_id uuid not null references session (id) on delete cascade
        deferrable initially deferred,
      created_at timestamptz not null
    )
    """,
    "create index idempotency_key_session on idempotency_key (session_id)",
    "create index idempotency_key_created_at on idempotency_key (created_at)",
)

# What has ended stays ended, whatever the service's code does.
TRIGGERS = (
    """
    create function keep_revoked() returns trigger language plpgsql as $$
    begin
      raise exception 'a revoked session stays revoked' using errcode = 'check_violation';
    end $$
    """,
    """
    create trigger session_stays_revoked before update on session for each row
      when (old.revoked_at is not null and (new.revoked_at, new.revoke_reason)
        is distinct from (old.revoked_at, old.revoke_reason))
      execute function keep_revoked()
    """,
    """
    create function keep_replaced() returns trigger language plpgsql as $$
    begin
      raise exception 'a replaced token stays replaced' using errcode = 'check_violation';
    end $$
    """,
    """
    create trigger refresh_token_stays_replaced before update on refresh_token for each row
      when (old.replaced_at is not null and new.replaced_at is distinct from old.replaced_at)
      execute function keep_replaced()
    """,
)

# No right to make an admin, to change an address, or to delete a player.
GRANTS = (
    "grant select on player to auth_runtime",
    """
    grant insert (id, kind, nickname, email, email_key, password_hash, created_at)
      on player to auth_runtime
    """,
    "grant update (nickname, password_hash) on player to auth_runtime",
    "grant select, delete on session to auth_runtime",
    """
    grant insert (id, player_id, user_agent, created_at, last_used_at, expires_at)
      on session to auth_runtime
    """,
    """
    grant update (last_used_at, revoked_at, revoke_reason, announced_at)
      on session to auth_runtime
    """,
    "grant select, insert, delete on refresh_token to auth_runtime",
    "grant update (replaced_at) on refresh_token to auth_runtime",
    "grant select, insert, delete on idempotency_key to auth_runtime",
)


def upgrade() -> None:
    for statement in (*TABLES, *TRIGGERS, *GRANTS):
        op.execute(statement)
