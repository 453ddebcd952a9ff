"""`python -m supervisor` is the command `trustfloor`."""

from supervisor.cli.main import main

if __name__ == "__main__":
    main()
