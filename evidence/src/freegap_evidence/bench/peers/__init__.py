"""freegap and other libraries side by side: the same work on the same data in the same run."""
