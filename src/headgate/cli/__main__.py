"""`python -m headgate.cli` is the command `headgate`."""

from headgate.cli import main

if __name__ == "__main__":
    main()
