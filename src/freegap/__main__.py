"""`python -m freegap` is the command `freegap`."""

from freegap.cli import main

if __name__ == "__main__":
    main()
