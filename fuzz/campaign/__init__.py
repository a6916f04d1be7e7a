"""A campaign as in CI: what is known is replayed first, then every engine fuzzes for its share of the time."""
