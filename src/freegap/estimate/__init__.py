"""What follows from a release without further cost: estimates, their errors, and confidence bounds."""
