# Whether a lease begins with the apply of a saved plan (expires: 36h): then its text has times that depend on when it was made.
any(.raygpu.leases[]?; .after and (has("before") | not) and (.expires | test("^[0-9]{4}-") | not))
