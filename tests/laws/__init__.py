"""The laws that exact reals are drawn from, for tests that go through all of them."""

from freegap.laws import LAWS, ExactLaw

EXACT_LAWS = {name: law for name, law in LAWS.items() if isinstance(law, ExactLaw)}
