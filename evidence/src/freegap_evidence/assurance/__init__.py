"""The library checks itself: proof or citation, exact law and audit of all that it releases with."""
