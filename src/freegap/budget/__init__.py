"""The ledger: how much ε a dataset has in all, what was spent, and what is still held for running releases.

A release first reserves its full ε durably, then runs, then settles at what it spent. A crash in between
leaves the reservation charged, so the ledger never says less than what was released.

    records      what a user is given: accounts, entries, the outcome of a verification
    accounting   the four kinds of lines and what each does to an account; pure, exact
    chain        one line of the journal, its hash, and the replay that verifies a whole journal
    location     which database a URL names
    schema       the two tables, their version, upgrades
    store        transactions on SQLite and PostgreSQL
    faults       what a database error means, in words
    ledger       `Ledger` and `Reservation`, the only two names a program needs
    statement    the journal of one dataset, one line per release, for people
"""
