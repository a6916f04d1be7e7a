"""`python -m reference_server`."""

from wireproof.reference_server.cli import main

if __name__ == "__main__":
    main()
