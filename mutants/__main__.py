"""`python -m wireproof.mutants`: serves and drives mutants, with the options of the reference programs."""

from wireproof.mutants.cli import main

if __name__ == "__main__":
    main()
