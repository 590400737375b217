-- Nobody comes in, makes temporary tables or objects in "public" unless it was granted by name.
revoke all on database $database from public;
revoke connect, temporary on database postgres from public;
revoke connect, temporary on database template1 from public;
