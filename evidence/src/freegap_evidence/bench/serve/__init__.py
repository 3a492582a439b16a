"""`freegap bench serve`: the service under load and under faults, held against its ledger."""
