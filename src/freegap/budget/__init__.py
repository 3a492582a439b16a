"""The ledger: what a dataset may spend in all, in ε, ρ or (ε, δ), what was spent, and what is still held.

A release first reserves all that it may cost, durably, then runs, then settles at what it spent. A crash in
between leaves the reservation charged, so the ledger never says less than what was released.

    records      what a user is given: accounts, entries, the outcome of a verification
    accounting   the four kinds of lines and what each does to an account; pure, exact
    budgets      how a budget in each measure is kept, and what a release in another one costs it
    chain        one line of the journal, its hash, and the replay that verifies a whole journal
    location     which database a URL names
    schema       the two tables, their version, upgrades
    store        transactions on SQLite and PostgreSQL
    heads        where the newest line is noted outside of the ledger
    faults       what a database error means, in words
    reservation  `Reservation`, what is held for one release
    ledger       `Ledger`; with it the only two names a program needs
    levels       one release, paid from several accounts at once
    lines        the lines of one release
    statement    the journal of one dataset, one line per release, for people
"""
