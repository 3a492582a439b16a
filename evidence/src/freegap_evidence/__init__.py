"""What the claims of freegap rest on: experiments, assurance, benchmarks and a catalogue of mechanisms.

It imports freegap; no part of freegap imports it.
"""
