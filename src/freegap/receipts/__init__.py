"""Receipts: what a release was, what it cost and what it rests on, signed; checked offline with a public key.

canonical   one text for one JSON value (RFC 8785), and a reader that takes no other text
keys        the Ed25519 key of this ledger's owner, and signatures
evidence    which theorem a mechanism rests on, and the hash of this version's evidence
receipt     a receipt of a line of the ledger: made, signed, read, checked
registry    a receipt as an entry of the public registry of deployments
assess      a receipt as a self-assessment in the order of NIST SP 800-226
"""
