"""`python -m pixlane` is the command `pixlane`."""

from pixlane.cli import main

if __name__ == "__main__":
    main()
