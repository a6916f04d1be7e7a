"""`python -m reference_client`."""

from wireproof.reference_client.cli import main

if __name__ == "__main__":
    main()
