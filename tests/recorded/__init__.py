"""The same bits give the same releases: digests of some thousand releases of every mechanism.

`python -m tests.recorded` writes them anew. That is for a change that is *meant* to change what is released
from given bits, and says so in the changelog; a change of names or of structure must leave them alone.
"""
