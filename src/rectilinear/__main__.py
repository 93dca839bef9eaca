"""`python -m rectilinear` is `rectilinear`, also where that is not on the path."""

from .cli import main

if __name__ == "__main__":
    main(prog_name="rectilinear")
