"""``python -m septet``: the command line."""

from septet.cli import main

if __name__ == "__main__":
    main()
