"""What goes in and what comes out: exact rationals, answers, results."""
