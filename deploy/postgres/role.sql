-- One login role. $$role and $$verifier are filled in by samovar/postgres_roles.py.
do $$body$$
begin
  if not exists (select from pg_roles where rolname = '$role') then
    create role $role;
  end if;
end
$$body$$;
alter role $role
  login nosuperuser nocreatedb nocreaterole noinherit noreplication nobypassrls
  password '$verifier';
