"""`python -m reference_client`."""

from reference_client.cli import main

if __name__ == "__main__":
    main()
