"""`python -m matchfit` is the same program as `matchfit`."""

from matchfit.cli.main import main

if __name__ == "__main__":
    main()
