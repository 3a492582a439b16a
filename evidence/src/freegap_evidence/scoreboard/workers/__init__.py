"""Programs that run in the environment of another library, and import nothing of ours."""
