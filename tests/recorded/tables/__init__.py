"""The same question about the same table, with the same bits, has the same answer, to the letter.

Some thousand questions about made-up tables: each function, each way through it, and from each of these one
argument at a time changed; every engine, every kind of column, every refusal. What came out is kept in
`answers.jsonl`, one line for each: the release as it is shown, what the ledger was told, and a digest of
everything else; of a refusal its words. `python -m tests.recorded` writes it anew, as it does the digests.
"""
