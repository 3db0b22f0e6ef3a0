"""`python -m rekmeans` is the command `rekmeans`."""

from .cli import main

if __name__ == "__main__":
    main()
