-- One service's schema: its owner migrates; its runtime role may look inside, and gets rights on
-- tables one by one from the service's migrations.
revoke all on schema public from public;

create schema if not exists $schema authorization ${schema}_owner;
alter schema $schema owner to ${schema}_owner;
revoke all on schema $schema from public;
grant usage on schema $schema to ${schema}_runtime;

grant connect on database $database to ${schema}_owner, ${schema}_runtime;
alter role ${schema}_owner in database $database set search_path = $schema;
alter role ${schema}_runtime in database $database set search_path = $schema;

-- Bounds against a client that hangs while it holds locks.
alter role ${schema}_runtime in database $database set statement_timeout = '30s';
alter role ${schema}_runtime in database $database set idle_in_transaction_session_timeout = '60s';
